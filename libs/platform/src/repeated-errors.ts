import type { LogFields } from './log.ts';

/** The same failure of many, as of all who wait for one answer, comes within this. */
const WINDOW_MS = 1_000;
/** Failures that are told apart at the same time. */
const KINDS_MAX = 1_000;

type Write = (more: LogFields) => void;

interface Seen {
  more: number;
}

/** Passes the first of equal failures at once; how many more there were follows as one line at the end of the window. */
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
