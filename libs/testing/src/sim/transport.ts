import {
  type ApiHandler,
  type ApiRequest,
  type ApiResponse,
  type ApiTransport,
  TransportError,
  type WatchFrame,
} from '@holdfast/client';
import type { Clock } from '@holdfast/platform';
import { FrameQueue } from './frame-queue.ts';
import type { SimulationKernel } from './kernel.ts';
import type { SimulatedNetwork } from './network.ts';

export interface SimulatedTransportOptions {
  readonly kernel: SimulationKernel;
  readonly network: SimulatedNetwork;
  /** The caller, whose clock measures its deadlines. */
  readonly from: string;
  readonly clock: Clock;
  /** False once the caller's incarnation has crashed: it neither sends nor receives. */
  readonly alive?: () => boolean;
  readonly to: string;
  /** `undefined` while the server is down: the call is refused. A restarted server is another handler. */
  readonly server: () => ApiHandler | undefined;
  readonly requestTimeoutMs: number;
  /** A watch without a frame for this long counts as half-open and ends with an error. */
  readonly watchIdleTimeoutMs: number;
}

/** Calls over the simulated network. Only the deadline reveals a lost request or response, as on a real network. */
export function createSimulatedTransport(options: SimulatedTransportOptions): ApiTransport {
  return {
    request: (request) => new SimulatedCall(options, request).answer(),
    close: () => Promise.resolve(),
  };
}

class SimulatedCall {
  readonly #options: SimulatedTransportOptions;
  readonly #request: ApiRequest;
  /** Aborts the request on the server. */
  readonly #serverAbort = new AbortController();
  readonly #label: string;

  constructor(options: SimulatedTransportOptions, request: ApiRequest) {
    this.#options = options;
    this.#request = request;
    this.#label = `${request.method} ${request.path}`;
  }

  answer(): Promise<ApiResponse> {
    const { clock, requestTimeoutMs, network, from, to } = this.#options;
    return new Promise((resolve, reject) => {
      if (!this.#isAlive()) return;
      // The signal calls back only for an abort that comes later.
      if (this.#request.signal?.aborted === true) {
        reject(new TransportError(`${this.#label} was aborted`, { possiblySent: false }));
        return;
      }
      const deadline = clock.timer(requestTimeoutMs, () => {
        this.#hangUp();
        reject(new TransportError(`no answer to ${this.#label} from ${to} within ${requestTimeoutMs} ms`));
      });
      const settle = (act: () => void): void => {
        deadline.cancel();
        if (this.#isAlive()) act();
      };
      this.#request.signal?.addEventListener('abort', () => {
        this.#hangUp();
        settle(() => reject(new TransportError(`${this.#label} was aborted`)));
      });
      network.send({
        from,
        to,
        label: this.#label,
        deliver: () =>
          this.#serve(
            (response) => settle(() => resolve(response)),
            (error) => settle(() => reject(error)),
          ),
      });
    });
  }

  /** Runs the pipeline on the server and sends the response. */
  #serve(resolve: (response: ApiResponse) => void, reject: (error: Error) => void): void {
    const { server, network, from, to, kernel } = this.#options;
    const handler = server();
    if (handler === undefined) {
      const deliver = (): void => reject(new TransportError(`connection to ${to} refused`));
      network.send({ from: to, to: from, label: 'refused', deliver });
      return;
    }
    handler({ ...this.#request, signal: this.#serverAbort.signal }).then((response) => {
      // A crashed server sends nothing more: the caller's deadline reveals it.
      if (server() !== handler) return;
      network.send({
        from: to,
        to: from,
        label: `${response.status} ${this.#label}`,
        deliver: () =>
          resolve(response.body.kind === 'watch' ? this.#stream(response, response.body.frames, handler) : response),
        lost: () => this.#serverAbort.abort(),
      });
    }, kernel.fail.bind(kernel));
  }

  /**
   * The client's end of a watch. Frames arrive in order, each after its own latency. After a lost frame nothing more
   * arrives.
   */
  #stream(response: ApiResponse, frames: AsyncIterable<WatchFrame>, handler: ApiHandler): ApiResponse {
    const { clock, watchIdleTimeoutMs, to, kernel } = this.#options;
    const queue = new FrameQueue({
      clock,
      idleTimeoutMs: watchIdleTimeoutMs,
      onIdle: () =>
        new TransportError(`watch of ${this.#request.path} at ${to} was silent for ${watchIdleTimeoutMs} ms`),
      onClose: () => this.#hangUp(),
    });
    this.#request.signal?.addEventListener('abort', () => queue.end());
    this.#pump(frames, queue, handler).catch(kernel.fail.bind(kernel));
    return { ...response, body: { kind: 'watch', frames: queue } };
  }

  async #pump(frames: AsyncIterable<WatchFrame>, queue: FrameQueue, handler: ApiHandler): Promise<void> {
    const { network, from, to, server } = this.#options;
    let broken = false;
    let lastArrivalMs = 0;
    const send = (label: string, deliver: () => void): void => {
      const arrive = (): void => {
        if (!broken && this.#isAlive()) deliver();
      };
      const lost = (): void => {
        broken = true;
      };
      lastArrivalMs = network.send({ from: to, to: from, label, deliver: arrive, lost, notBeforeMs: lastArrivalMs });
    };
    for await (const frame of frames) {
      if (broken || server() !== handler || !this.#isAlive()) break;
      send(`frame ${this.#request.path}`, () => queue.push(frame));
    }
    this.#serverAbort.abort();
    send(`end ${this.#request.path}`, () => queue.end());
  }

  #isAlive(): boolean {
    return this.#options.alive?.() ?? true;
  }

  /** Tells the server, if the network permits, that the client stopped listening. */
  #hangUp(): void {
    const { network, from, to } = this.#options;
    if (this.#serverAbort.signal.aborted) return;
    network.send({ from, to, label: 'hang up', deliver: () => this.#serverAbort.abort() });
  }
}
