import {
  type ApiHandler,
  type ApiRequest,
  type ApiResponse,
  type ApiTransport,
  TransportError,
  type WatchFrame,
} from '@holdfast/client';
import { StatusError } from '@holdfast/machinery';
import type { Clock } from '@holdfast/platform';
import type { Direction, Life } from './gate.ts';
import { LOST_AFTER_MS, SILENT_WATCH_MS } from './limits.ts';

interface Way extends Life {
  /** The machine's: a deadline is over whether or not the process is stopped. */
  readonly clock: Clock;
}

/** The wire from one component to the API server. Until it is whole, only a deadline tells that something was lost. */
export const gatedTransport = (inner: ApiTransport, way: Way): ApiTransport => ({
  request: (request) => new Call(inner, way, request).answer(),
  close: () => inner.close(),
});

class Call {
  readonly #inner: ApiTransport;
  readonly #way: Way;
  readonly #request: ApiRequest;
  readonly #hangUp = new AbortController();
  /** The caller needs no answer any more, or is dead. */
  readonly #ended: AbortSignal;

  constructor(inner: ApiTransport, way: Way, request: ApiRequest) {
    this.#inner = inner;
    this.#way = way;
    this.#request = request;
    const asked = request.signal === undefined ? [] : [request.signal];
    this.#ended = AbortSignal.any([way.over, this.#hangUp.signal, ...asked]);
  }

  async answer(): Promise<ApiResponse> {
    await this.#travel('toApi');
    const response = await this.#inner.request({ ...this.#request, signal: this.#ended });
    await this.#travel('fromApi');
    if (response.body.kind !== 'watch') return response;
    return { ...response, body: { kind: 'watch', frames: this.#frames(response.body.frames) } };
  }

  /** After a lost frame nothing more arrives. */
  async *#frames(frames: AsyncIterable<WatchFrame>): AsyncGenerator<WatchFrame> {
    try {
      for await (const frame of frames) {
        await this.#travel('fromApi', SILENT_WATCH_MS);
        yield frame;
      }
      await this.#way.gate.passed();
    } finally {
      this.#hangUp.abort();
    }
  }

  /** Resolves on arrival. */
  async #travel(direction: Direction, silentMs = LOST_AFTER_MS): Promise<void> {
    const { gate } = this.#way;
    // A stopped process neither sends nor receives.
    await gate.passed();
    this.#refuseEnded();
    const delayMs = gate.delayMs();
    if (delayMs > 0) await this.#wait(delayMs);
    if (!gate.loses(direction)) return;
    // A connection that is silent breaks when the wire is whole: the peer knows nothing of what was lost.
    await Promise.race([this.#wait(silentMs), ...(gate.has(direction) ? [gate.whole()] : [])]);
    await gate.passed();
    this.#hangUp.abort();
    const { method, path } = this.#request;
    throw new TransportError(`no answer to ${method} ${path} within ${silentMs} ms`, { possiblySent: true });
  }

  async #wait(ms: number): Promise<void> {
    await this.#way.clock.sleep(ms, this.#ended).catch(() => undefined);
    this.#refuseEnded();
  }

  #refuseEnded(): void {
    if (!this.#ended.aborted) return;
    throw new TransportError('the request was aborted', { cause: this.#ended.reason, possiblySent: true });
  }
}

/** What the API server asks of a kubelet (logs, exec): the same wire, the other way round. */
export const gatedHandler =
  (handle: ApiHandler, { gate, over, clock }: Way): ApiHandler =>
  async (request) => {
    await gate.passed();
    const isLost = over.aborted || gate.loses('fromApi');
    const response = isLost ? undefined : await handle(request);
    if (response !== undefined && !gate.loses('toApi')) return response;
    await clock.sleep(LOST_AFTER_MS, request.signal).catch(() => undefined);
    const message = `the kubelet did not answer within ${LOST_AFTER_MS} ms`;
    throw new StatusError({ code: 504, reason: 'Timeout', message });
  };
