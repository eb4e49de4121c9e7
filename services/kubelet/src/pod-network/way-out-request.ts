import type { Clock, Log, Timer } from '@holdfast/platform';
import { WAY_OUT_RETRY_MS } from './limits.ts';

export interface WayOutRequestDeps {
  readonly clock: Clock;
  readonly log: Log;
}

type Ask = () => Promise<unknown>;

/** Requests the way to other networks until it is there. Pods work without it. */
export class WayOutRequest {
  readonly #deps: WayOutRequestDeps;
  /** The request that is repeated. */
  #ask: Ask | undefined;
  #reason = '';
  #retry: Timer | undefined;

  constructor(deps: WayOutRequestDeps) {
    this.#deps = deps;
  }

  /** Never rejects. `ask` belongs to the present connection to the agent; a later call replaces it. */
  async begin(ask: Ask): Promise<void> {
    this.cancel();
    this.#ask = ask;
    await this.#attempt(ask);
  }

  /** The connection has gone, or this process ends. */
  cancel(): void {
    this.#ask = undefined;
    this.#retry?.cancel();
  }

  async #attempt(ask: Ask): Promise<void> {
    try {
      await ask();
      this.#reason = '';
    } catch (error) {
      if (this.#ask !== ask) return;
      this.#failed(error);
      this.#retry = this.#deps.clock.timer(WAY_OUT_RETRY_MS, () => void this.#attempt(ask));
    }
  }

  /** A reason is stated once. */
  #failed(error: unknown): void {
    const reason = String(error);
    if (reason !== this.#reason)
      this.#deps.log.warn('pods have no way to other networks, it is tried again', { error });
    this.#reason = reason;
  }
}
