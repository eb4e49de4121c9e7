import type { TlsPair } from '@holdfast/platform/pair-watch';

/**
 * Messages between the HTTP thread and the pipeline thread. A request ends with exactly one `answer`, `end` or `cut`;
 * messages that cross it, or arrive later, are ignored.
 */

/** Bytes that belong to a message travel beside it, see `Outbox`. */
export interface Carried {
  at?: number;
  length?: number;
}

export interface RequestMessage extends Carried {
  readonly kind: 'request';
  readonly id: number;
  readonly method: string;
  /** As sent. */
  readonly url: string;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  /** A body that is text; any other is carried. */
  readonly text: string | undefined;
  readonly remoteAddress: string;
  /** A certificate of our authority: its hash and its subject; '' for any other. */
  readonly clientCertificate: string | undefined;
}

interface About extends Carried {
  readonly id: number;
}

/** From the front to the pipeline. */
export type FrontMessage =
  | RequestMessage
  /** The client has gone, or takes nothing any more. */
  | (About & { readonly kind: 'gone' })
  /** The client took so many bytes of chunks. */
  | (About & { readonly kind: 'taken'; readonly bytes: number })
  /** A piece was sent; it may be filled again. */
  | (About & { readonly kind: 'returned'; readonly piece: Uint8Array<ArrayBuffer> })
  /** On an upgraded connection: the client's data, and their end. */
  | (About & { readonly kind: 'data' | 'ended' })
  /** The number of completely written answers. */
  | (Carried & { readonly kind: 'written'; readonly answers: number })
  | LogMessage
  | ControlAnswer;

export interface LogMessage extends Carried {
  readonly kind: 'log';
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** The front's status report. */
export type ControlAnswer = Carried &
  (
    | { readonly kind: 'listening'; readonly host: string; readonly port: number }
    | { readonly kind: 'not-listening'; readonly why: string }
    | { readonly kind: 'stopped' }
    | ({ readonly kind: 'figures' } & FrontFigures)
  );

export interface FrontFigures {
  /** Held by the thread, on its heap and beside it. */
  readonly bytes: number;
  readonly connections: number;
}

interface Head extends About {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
}

/** From the pipeline to the front. */
export type PipelineMessage =
  /** A whole answer; its body is carried. */
  | (Head & { readonly kind: 'answer' })
  /** An answer whose body comes in chunks. `isDocument`: it has an end, and may be compressed, though its length may not be known. */
  | (Head & { readonly kind: 'begin'; readonly isDocument: boolean })
  /** `also`: others that are sent the same bytes, as the watchers of one change are. */
  | (About & { readonly kind: 'chunk'; readonly also: number[] })
  /** A chunk whose memory is moved, to be returned. */
  | (About & { readonly kind: 'piece'; readonly piece: Uint8Array<ArrayBuffer> })
  | (About & { readonly kind: 'end' })
  /** On an upgraded connection: no more data follow, but the client may still send. */
  | (About & { readonly kind: 'finish' })
  /** The answer cannot be completed. */
  | (About & { readonly kind: 'cut' })
  /** The connection changes its protocol; chunks are what the client is sent. */
  | (Head & { readonly kind: 'upgrade' })
  /** The number of consumed bytes of `data`. */
  | (About & { readonly kind: 'taken'; readonly bytes: number })
  | ControlWish;

/** What the front shall do. `renew`: another certificate of this server. */
export type ControlWish = Carried &
  ({ readonly kind: 'listen' | 'stop' | 'measure' } | { readonly kind: 'renew'; readonly pair: TlsPair });

/** The messages of one transfer between the threads. */
export interface Batch<M> {
  readonly messages: readonly M[];
  readonly bytes: ArrayBuffer | undefined;
}
