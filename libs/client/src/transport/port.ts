import type { Duplex } from 'node:stream';

/**
 * The connection to the API. `direct` calls the API server's request pipeline in this process, `https` uses the
 * network, and the simulator puts its network between the two. Requests and responses are the same.
 */
export interface ApiTransport {
  /**
   * Rejects with `TransportError` when no response came (refused, reset, deadline). Every HTTP status is a response.
   */
  request(request: ApiRequest): Promise<ApiResponse>;
  close(): Promise<void>;
}

/** Implemented by the API server: the same pipeline behind every transport. */
export type ApiHandler = (request: ApiRequest) => Promise<ApiResponse>;

export type HttpMethod = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS';

export interface ApiRequest {
  readonly method: HttpMethod;
  /** The decoded path without its query: `/api/v1/namespaces/default/pods`. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Names are in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** Aborts the request, or ends a watch. */
  readonly signal?: AbortSignal | undefined;
  /** True when the time of the request is over: nothing new is begun for it. The API server sets this. */
  readonly isOver?: () => boolean;
  /** The API server sets this on a request with a deadline: the one that its client has sent, with the same body. */
  readonly asked?: ApiRequest;
  /** The HTTPS server sets this from the connection; callers of `direct` omit it. */
  readonly connection?: {
    readonly remoteAddress: string;
    /**
     * A client certificate signed by our authority: its SHA-256 as hex, its common name and its organizations, as JSON.
     * Empty for any other certificate.
     */
    readonly clientCertificate?: string;
  };
}

export interface ApiResponse {
  readonly status: number;
  /** Names are in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: ResponseBody;
  /**
   * With status 101: the carrier of the response writes its head, then passes the connection and the bytes it has
   * already read to this function.
   */
  readonly upgrade?: (socket: Duplex, head: Uint8Array) => void;
}

/** A long document that is produced while it is sent: each piece is made on request. */
export interface JsonPieces {
  readonly length: number;
  readonly pieces: Iterable<Uint8Array>;
  /** Present when the memory of a piece is its own, may be transferred, and is reused after it is released. */
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
   * Bytes as they arrive (logs), until the source ends or the request's signal aborts; `content-type` is a header.
   * `isDocument`: a long document that is produced while it is sent, so that only as much of it is in memory as the
   * client reads. It may be compressed.
   */
  | { readonly kind: 'stream'; readonly chunks: AsyncIterable<Uint8Array>; readonly isDocument?: true };

export interface WatchFrame {
  /** `{"type":...,"object":...}\n`, encoded once and shared by all watchers. */
  readonly bytes: () => Uint8Array;
  /** The same content, deep-frozen and shared. */
  readonly value: () => WatchEvent;
}

export interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: unknown;
}

/** No response came. The request may or may not have reached the server. */
export class TransportError extends Error {
  override readonly name = 'TransportError';
  /** False only when it is certain that no byte of the request reached a server. Then a write may be sent again. */
  readonly possiblySent: boolean;
  constructor(message: string, init: { readonly cause?: unknown; readonly possiblySent?: boolean } = {}) {
    super(message, init.cause === undefined ? undefined : { cause: init.cause });
    this.possiblySent = init.possiblySent ?? true;
  }
}
