import type { ApiRequest, ApiResponse } from '@holdfast/client';
import type { StatusError } from '@holdfast/machinery';
import { discard } from '../front/answer-bodies.ts';
import { withLazySignal } from '../http/lazy-signal.ts';
import { outOfTime } from '../http/out-of-time.ts';

/** A request whose time may be over before it is answered. For the work, its client has gone then. */
export class BoundedRequest {
  readonly request: ApiRequest;
  #reason: Error | undefined;
  #controller: AbortController | undefined;
  #signal: AbortSignal | undefined;

  constructor(asked: ApiRequest) {
    const isOver = (): boolean => this.#reason !== undefined;
    this.request = withLazySignal(asked, { isOver, asked }, () => (this.#signal ??= this.#open(asked.signal)));
  }

  /** The time is over: nothing new is begun, and an answer that still comes is dropped. Returns what the client is told. */
  end(answered: Promise<ApiResponse>): StatusError {
    const error = outOfTime();
    this.#reason = error;
    this.#controller?.abort(error);
    answered.then(({ body }) => discard(body)).catch(() => undefined);
    return error;
  }

  #open(asked: AbortSignal | undefined): AbortSignal {
    this.#controller = new AbortController();
    if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    const { signal } = this.#controller;
    return asked === undefined ? signal : AbortSignal.any([asked, signal]);
  }
}
