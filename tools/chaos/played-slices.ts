import type { Outage } from '../../test/chaos/play/outages.ts';
import type { Played } from './files.ts';
import { formatOutages } from './outages.ts';

/** What a campaign writes down after each run, so that it can be played in parts. */
export interface PlayedSlice {
  /** The file, or the seed and the form. */
  readonly run: string;
  readonly outages: readonly Outage[];
  /** Requests of clients whose histories were judged. */
  readonly requests: number;
  /** Those without an answer that says what happened. */
  readonly failed: number;
  readonly commits: number;
  readonly broken: readonly string[];
}

export function sliceOf({ name, verdict }: Played): PlayedSlice {
  const requests = verdict?.requests ?? [];
  return {
    run: name,
    outages: verdict?.outages ?? [],
    requests: requests.length,
    failed: requests.filter(({ isFailed }) => isFailed === true).length,
    commits: verdict?.commits.length ?? 0,
    broken: verdict?.broken ?? ['the run failed'],
  };
}

/** A row for each kind of fault, the sums, and what is broken. */
export function formatPlayed(slices: readonly PlayedSlice[]): string {
  const sum = (of: (slice: PlayedSlice) => number): number => slices.reduce((total, slice) => total + of(slice), 0);
  const broken = slices.filter((slice) => slice.broken.length > 0);
  return [
    formatOutages(slices.flatMap(({ outages }) => outages)),
    `${slices.length} played, ${sum(({ outages }) => outages.length)} faults, ${sum(({ commits }) => commits)} commits, ` +
      `${sum(({ requests }) => requests)} requests judged, ${sum(({ failed }) => failed)} of them without an answer; ` +
      `${broken.length} with something broken`,
    ...broken.flatMap((slice) => slice.broken.map((each) => `BROKEN (${slice.run}): ${each}`)),
  ].join('\n');
}
