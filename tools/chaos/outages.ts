import { percentile } from '../../test/chaos/losses/report.ts';
import type { Outage } from '../../test/chaos/play/outages.ts';

/** Writes return within this time of the loss of a zone. */
const WANTED_MS = 10_000;

/** A row for each kind of fault: how long no write was acknowledged. */
export function formatOutages(outages: readonly Outage[]): string {
  if (outages.length === 0) return 'no faults';
  const kinds = [...new Set(outages.map(({ kind }) => kind))].toSorted();
  return [
    '| fault | times | p50 s | p99 s | max s | above 10 s |',
    '| --- | ---: | ---: | ---: | ---: | ---: |',
    ...[
      ...kinds.map((kind) => ({ name: kind, own: outages.filter((each) => each.kind === kind) })),
      { name: 'all', own: outages },
    ].map(({ name, own }) =>
      rowOf(
        name,
        own.map(({ ms }) => ms),
      ),
    ),
  ].join('\n');
}

function rowOf(name: string, times: readonly number[]): string {
  const shares = [0.5, 0.99, 1].map((share) => ((percentile(times, share) ?? 0) / 1000).toFixed(1));
  const late = times.filter((ms) => ms > WANTED_MS).length;
  return `| ${[name, times.length, ...shares, late].join(' | ')} |`;
}
