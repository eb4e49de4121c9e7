import { LOSS_KINDS, type LossKind } from './plan.ts';
import type { LossReport, Recovery } from './run.ts';

/** From the loss of a node to Running elsewhere. */
export const RECOVERY_MAX_MS = 20_000;
export const RECOVERY_MEDIAN_MS = 15_000;
const SHOWN = 5;

/** The nearest rank; undefined without values. */
export function percentile(values: readonly number[], share: number): number | undefined {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)];
}

/** What the run must not show. Empty: everything is as promised. */
export function brokenPromises({ recoveries, overlaps, damage, surprises, database }: LossReport): readonly string[] {
  const times = timesOf(recoveries);
  const never = recoveries.filter(({ ms }) => ms === undefined);
  const [median = 0, max = 0] = [percentile(times, 0.5), percentile(times, 1)];
  return [
    ...never.map(({ identity, kind }) => `${identity} did not recover from ${kind}`),
    ...(max > RECOVERY_MAX_MS ? [`the slowest recovery took ${seconds(max)} s`] : []),
    ...(median > RECOVERY_MEDIAN_MS ? [`half of the recoveries took longer than ${seconds(median)} s`] : []),
    ...overlaps,
    ...damage.slice(0, SHOWN),
    ...surprises,
    ...database.broken,
  ];
}

const timesOf = (recoveries: readonly Recovery[]): readonly number[] => recoveries.flatMap(({ ms }) => ms ?? []);
const seconds = (ms: number | undefined): string => (ms === undefined ? '-' : (ms / 1000).toFixed(1));

/** A table in Markdown, and the sums. */
export function formatReport(report: LossReport): string {
  const { recoveries, overlaps, damage, surprises } = report;
  const row = (title: string, of: readonly Recovery[]): string => {
    const times = timesOf(of);
    const columns = [0, 0.5, 0.99, 1].map((share) => seconds(percentile(times, share)));
    return `| ${[title, of.length, ...columns].join(' | ')} |`;
  };
  const kinds = (Object.keys(LOSS_KINDS) as LossKind[])
    .map((kind) => [kind, recoveries.filter((each) => each.kind === kind)] as const)
    .filter(([, of]) => of.length > 0);
  return [
    '| loss | identities | min s | p50 s | p99 s | max s |',
    '| --- | ---: | ---: | ---: | ---: | ---: |',
    ...kinds.map(([kind, of]) => row(kind, of)),
    row('all', recoveries),
    '',
    `${report.losses} losses, ${overlaps.length} overlaps in ${report.beats} heartbeats, ${damage.length} damaged of ${report.records} records, ` +
      `${report.refused} refused writes of replaced writers, ${surprises.length} surprises`,
    `API load: ${report.load}`,
    ...(report.database.facts === '' ? [] : [report.database.facts]),
    ...overlaps.slice(0, SHOWN),
    ...damage.slice(0, SHOWN),
    ...surprises.slice(0, SHOWN),
  ].join('\n');
}
