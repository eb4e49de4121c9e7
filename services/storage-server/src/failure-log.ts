import { type Clock, describeError, type Log, RecentMap } from '@holdfast/platform';
import { FAILURE_KINDS_MAX, FAILURE_REPORT_MS } from './limits.ts';

interface Reported {
  readonly at: number;
  /** Failures since. */
  more: number;
}

/**
 * Logs failed requests. Of equal failures it reports the first, then at most one in `FAILURE_REPORT_MS`, with the number
 * of those in between: on a full disk every write fails, and writers repeat them.
 */
export class FailureLog {
  readonly #clock: Clock;
  readonly #log: Log;
  /** By operation and kind of error. */
  readonly #reported = new RecentMap<string, Reported>(FAILURE_KINDS_MAX);

  constructor({ clock, log }: { readonly clock: Clock; readonly log: Log }) {
    this.#clock = clock;
    this.#log = log;
  }

  report(operation: string, error: unknown): void {
    const kind = `${operation} ${kindOf(error)}`;
    const now = this.#clock.monotonic();
    const last = this.#reported.get(kind);
    if (last !== undefined && now - last.at < FAILURE_REPORT_MS) {
      last.more += 1;
      return;
    }
    this.#reported.set(kind, { at: now, more: 0 });
    const repeated = last === undefined || last.more === 0 ? {} : { repeated: last.more };
    this.#log.error('a request failed', { operation, error, ...repeated });
  }
}

/** The messages of the system differ in paths; ours name the volume that has the problem. */
const kindOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : describeError(error);
