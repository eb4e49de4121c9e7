import { percentile } from '../losses/report.ts';

/** What the campaign writes down after each slice. */
export interface Slice {
  readonly kind: string;
  /** For each fault, the longest time without an acknowledged write. */
  readonly unavailableMs: readonly number[];
  readonly acknowledged: number;
  readonly unknown: number;
  readonly operations: number;
  readonly broken: readonly string[];
}

const seconds = (ms: number | undefined): string => (ms === undefined ? '-' : (ms / 1000).toFixed(2));

/** A row for each kind of fault, and what is broken. */
export function formatSlices(slices: readonly Slice[]): string {
  const kinds = [...new Set(slices.map(({ kind }) => kind))];
  return [
    '| fault | times | p50 s | p99 s | max s | acknowledged | unknown | judged operations | broken |',
    '| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |',
    ...kinds.map((kind) => rowOf(kind, slices)),
    ...slices.flatMap(({ kind, broken }) => broken.map((each) => `BROKEN (${kind}): ${each}`)),
  ].join('\n');
}

function rowOf(kind: string, slices: readonly Slice[]): string {
  const own = slices.filter((slice) => slice.kind === kind);
  const times = own.flatMap(({ unavailableMs }) => unavailableMs);
  const sum = (of: (slice: Slice) => number): number => own.reduce((total, slice) => total + of(slice), 0);
  const columns = [
    times.length,
    ...[0.5, 0.99, 1].map((share) => seconds(percentile(times, share))),
    sum(({ acknowledged }) => acknowledged),
    sum(({ unknown }) => unknown),
    sum(({ operations }) => operations),
    sum(({ broken }) => broken.length),
  ];
  return `| ${[kind, ...columns].join(' | ')} |`;
}
