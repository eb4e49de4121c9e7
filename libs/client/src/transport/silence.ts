import type { Clock, Timer } from '@holdfast/platform';
import { SERVER_PATIENCE_MAX_MS, SERVER_SILENT_MS } from '../limits.ts';

export interface SilenceOptions {
  readonly clock: Clock;
  /** Requests wait for the server, and nothing came from it for a while: new ones go elsewhere. */
  readonly onSuspect: (server: string) => void;
  /** Asks the server on a connection of its own. */
  readonly isThere: (server: string) => Promise<boolean>;
  /** It did not answer that either. */
  readonly onGone: (server: string) => void;
}

/**
 * Finds servers that were cut off without a word, long before the deadlines of requests and the silence of watches do. One request
 * that takes long is no reason: another answer shows that its server is there.
 */
export class Silence {
  readonly #options: SilenceOptions;
  readonly #states = new Map<string, State>();

  constructor(options: SilenceOptions) {
    this.#options = options;
  }

  /** A request waits for the server. The end of the wait has to be told by `ended`. */
  began(server: string): void {
    const state = this.#of(server);
    state.waiting += 1;
    if (state.waiting > 1) return;
    state.heardAtMs = this.#options.clock.monotonic();
    if (state.timer === undefined) this.#look(server, state, SERVER_SILENT_MS);
  }

  heard(server: string): void {
    const state = this.#of(server);
    state.heardAtMs = this.#options.clock.monotonic();
    state.patienceMs = SERVER_SILENT_MS;
  }

  ended(server: string): void {
    this.#of(server).waiting -= 1;
  }

  close(): void {
    for (const { timer } of this.#states.values()) timer?.cancel();
    this.#states.clear();
  }

  #of(server: string): State {
    let state = this.#states.get(server);
    if (state === undefined) {
      state = { waiting: 0, heardAtMs: 0, patienceMs: SERVER_SILENT_MS, timer: undefined };
      this.#states.set(server, state);
    }
    return state;
  }

  /** One timer for each server, however many requests there are. */
  #look(server: string, state: State, inMs: number): void {
    state.timer = this.#options.clock.timer(inMs, () => {
      state.timer = undefined;
      if (state.waiting === 0) return;
      const leftMs = state.heardAtMs + state.patienceMs - this.#options.clock.monotonic();
      if (leftMs > 0) this.#look(server, state, leftMs);
      else void this.#ask(server, state);
    });
  }

  async #ask(server: string, state: State): Promise<void> {
    const { clock, onSuspect, isThere, onGone } = this.#options;
    onSuspect(server);
    const askedAtMs = clock.monotonic();
    const answered = await isThere(server);
    if (this.#states.get(server) !== state) return;
    const isGone = !answered && state.heardAtMs <= askedAtMs;
    if (isGone) onGone(server);
    // The next look of a server that only has a slow request comes later.
    else state.patienceMs = Math.min(state.patienceMs * 2, SERVER_PATIENCE_MAX_MS);
    state.heardAtMs = clock.monotonic();
    if (state.waiting > 0) this.#look(server, state, state.patienceMs);
  }
}

interface State {
  waiting: number;
  heardAtMs: number;
  patienceMs: number;
  timer: Timer | undefined;
}
