import { type Clock, describeError, type Log } from '@holdfast/platform';
import type { Revision } from '../port.ts';
import {
  compactionPoint,
  type HistoryExtent,
  keptSamples,
  type RetentionLimits,
  type RevisionSample,
} from './retention.ts';

export interface MaintenanceOptions {
  readonly clock: Clock;
  /** The limits follow the space that objects need. */
  readonly limits: () => RetentionLimits;
  readonly measure: () => Promise<HistoryExtent>;
  readonly compact: (upTo: Revision) => Promise<void>;
}

/** Records which revision was current at which time, and compacts beyond the retention limits. */
export class Maintenance {
  readonly #options: MaintenanceOptions;
  #samples: RevisionSample[] = [];

  constructor(options: MaintenanceOptions) {
    this.#options = options;
  }

  readonly run = async (): Promise<void> => {
    for (let round = 0; round < ROUNDS_MAX; round++) {
      if (!(await this.#compactOnce())) return;
    }
  };

  /** Resolves with false when nothing was compacted, or when the rest is within its size bound. */
  async #compactOnce(): Promise<boolean> {
    const { clock, measure, compact } = this.#options;
    const extent = await measure();
    const limits = this.#options.limits();
    const now = clock.monotonic();
    this.#samples = keptSamples([...this.#samples, { at: now, revision: extent.current }], now, limits.minAgeMs);
    const point = compactionPoint(extent, this.#samples, now, limits);
    if (point <= extent.compacted) return false;
    await compact(point);
    return extent.bytes > limits.maxBytes;
  }
}

/** The compaction point is an estimate, because changes differ in size. */
const ROUNDS_MAX = 8;

/** Repeats `work`, `intervalMs` after its last end, until stopped. Logs a failure and retries. */
export function every(
  { clock, log, what }: { readonly clock: Clock; readonly log: Log; readonly what: string },
  intervalMs: number,
  work: () => Promise<void>,
): { stop(): void } {
  const stopping = new AbortController();
  const loop = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      await clock.sleep(intervalMs, stopping.signal);
      try {
        await work();
      } catch (error) {
        if (!stopping.signal.aborted)
          log.warn('periodic work of the store failed', { what, reason: describeError(error) });
      }
    }
  };
  loop().catch((error: unknown) => {
    if (!stopping.signal.aborted) log.error('periodic work of the store ended', { what, error });
  });
  return { stop: () => stopping.abort() };
}
