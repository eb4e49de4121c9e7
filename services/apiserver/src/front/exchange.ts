import { type AnswerShare, ChunkWindow } from './chunk-window.ts';
import type { ForwardedConnection } from './forwarded-connection.ts';

const CLIENT_GONE = new Error('the client has gone');

/** The state of one request until its response. */
export class Exchange {
  readonly window: ChunkWindow;
  connection: ForwardedConnection | undefined;
  isGone = false;
  /** The final message was sent. */
  isAnswered = false;
  /** Pieces that the front has not returned. */
  lent = 0;
  release: ((piece: Uint8Array) => void) | undefined;
  #reason: Error | undefined;
  #controller: AbortController | undefined;

  constructor(share: AnswerShare) {
    this.window = new ChunkWindow(share);
  }

  /** Created on demand: few requests last long enough. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  abort(reason: Error): void {
    this.#reason ??= reason;
    this.#controller?.abort(reason);
    this.connection?.destroy();
  }

  leave(): void {
    this.isGone = true;
    this.abort(CLIENT_GONE);
    this.window.close();
  }
}
