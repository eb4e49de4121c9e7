import type { Duplex } from 'node:stream';

/**
 * How anybody reaches the API: `direct` calls the apiserver's request pipeline in this process, `https` goes over the
 * network, the simulator adds its network between the two. Same requests, same answers.
 */
export interface ApiTransport {
  /** Rejects with `TransportError` when no answer came (refused, reset, deadline); every HTTP status is an answer. */
  request(request: ApiRequest): Promise<ApiResponse>;
  close(): Promise<void>;
}

/** Implemented by the apiserver: the same pipeline behind every transport. */
export type ApiHandler = (request: ApiRequest) => Promise<ApiResponse>;

export type HttpMethod = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS';

export interface ApiRequest {
  readonly method: HttpMethod;
  /** Decoded path without query: `/api/v1/namespaces/default/pods`. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** Aborts the request, and ends a watch. */
  readonly signal?: AbortSignal;
  /** Set by the HTTPS server from the connection; a caller of `direct` leaves it out. */
  readonly connection?: {
    readonly remoteAddress: string;
    /** One that our authority has signed: its SHA-256 as hex, then lines of its subject like `CN=admin`; '' for any other. */
    readonly clientCertificate?: string;
  };
}

export interface ApiResponse {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: ResponseBody;
  /** With status 101: whoever carries the answer writes its head, and then gives the connection and what it has read of it away. */
  readonly upgrade?: (socket: Duplex, head: Uint8Array) => void;
}

/** A long document as it is sent: a piece is made when it is asked for. */
export interface JsonPieces {
  readonly length: number;
  readonly pieces: Iterable<Uint8Array>;
  /** Present: the memory of a piece is its own, may be moved, and is filled again once it was released. */
  readonly release?: (piece: Uint8Array) => void;
}

export type ResponseBody =
  | { readonly kind: 'empty' }
  | { readonly kind: 'text'; readonly contentType: string; readonly text: string }
  /** One JSON document. `value` is deep-frozen and shared: never change it. */
  | {
      readonly kind: 'json';
      readonly bytes: () => Uint8Array;
      readonly value: () => unknown;
      /** The same bytes piece by piece, for long documents. */
      readonly pieces?: () => JsonPieces;
    }
  /** Watch frames until the server ends the stream or the request's signal aborts. */
  | { readonly kind: 'watch'; readonly frames: AsyncIterable<WatchFrame> }
  /**
   * Bytes as they come (logs), until the source ends or the request's signal aborts; `content-type` is a header. `isDocument`: a long
   * document that is made while it is sent, so that no more of it is in memory than the client takes; it may be compressed.
   */
  | { readonly kind: 'stream'; readonly chunks: AsyncIterable<Uint8Array>; readonly isDocument?: true };

export interface WatchFrame {
  /** `{"type":...,"object":...}\n`, encoded once and shared by every watcher. */
  readonly bytes: () => Uint8Array;
  /** The same, deep-frozen and shared. */
  readonly value: () => WatchEvent;
}

export interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: unknown;
}

/** No answer came; the request may or may not have reached the server. */
export class TransportError extends Error {
  override readonly name = 'TransportError';
  /** False only when it is certain that no byte of the request reached a server, so that a write may be sent again. */
  readonly possiblySent: boolean;
  constructor(message: string, init: { readonly cause?: unknown; readonly possiblySent?: boolean } = {}) {
    super(message, init.cause === undefined ? undefined : { cause: init.cause });
    this.possiblySent = init.possiblySent ?? true;
  }
}
