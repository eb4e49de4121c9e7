import type { LogFields } from './log.ts';

/** Equal failures, such as those of all callers that wait for one reply, arrive within this time. */
const WINDOW_MS = 1_000;
/** Maximum number of different failures that are tracked at the same time. */
const KINDS_MAX = 1_000;

type Write = (more: LogFields) => void;

interface Seen {
  more: number;
}

/**
 * Reports the first of equal failures immediately. At the end of the window it reports the number of repetitions in one
 * line.
 */
export class RepeatedErrors {
  readonly #seen = new Map<string, Seen>();

  pass(kind: string, write: Write): void {
    const seen = this.#seen.get(kind);
    if (seen !== undefined) {
      seen.more += 1;
      return;
    }
    if (this.#seen.size < KINDS_MAX) this.#open(kind, write);
    write({});
  }

  #open(kind: string, write: Write): void {
    const seen: Seen = { more: 0 };
    this.#seen.set(kind, seen);
    const timer = setTimeout(() => {
      this.#seen.delete(kind);
      if (seen.more > 0) write({ repeated: seen.more });
    }, WINDOW_MS);
    timer.unref();
  }
}
