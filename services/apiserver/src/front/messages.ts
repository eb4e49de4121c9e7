/**
 * What the thread that speaks HTTP and the thread that answers say to each other. A request ends with exactly one `answer`, `end` or
 * `cut`; what crosses it on the way, or comes after it, is ignored.
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
  /** As it was sent. */
  readonly url: string;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  /** A body that is text; any other is carried. */
  readonly text: string | undefined;
  readonly remoteAddress: string;
  /** One that our authority has signed: its hash and its subject; '' for any other. */
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
  /** On a connection that changed its protocol: what the client sends, and its end. */
  | (About & { readonly kind: 'data' | 'ended' })
  /** So many whole answers were written. */
  | (Carried & { readonly kind: 'written'; readonly answers: number })
  | LogMessage
  | ControlAnswer;

export interface LogMessage extends Carried {
  readonly kind: 'log';
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** What the front says about itself. */
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
  /** On a connection that changed its protocol: nothing more is sent, but it may still bring something. */
  | (About & { readonly kind: 'finish' })
  /** The answer cannot be completed. */
  | (About & { readonly kind: 'cut' })
  /** The connection changes its protocol; chunks are what the client is sent. */
  | (Head & { readonly kind: 'upgrade' })
  /** So many bytes of `data` were taken. */
  | (About & { readonly kind: 'taken'; readonly bytes: number })
  | (Carried & { readonly kind: 'listen' | 'stop' | 'measure' });

/** What passes between the threads at once. */
export interface Batch<M> {
  readonly messages: readonly M[];
  readonly bytes: ArrayBuffer | undefined;
}
