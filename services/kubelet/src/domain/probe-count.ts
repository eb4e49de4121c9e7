import type { Probe } from '@holdfast/api';

export type ProbeKind = 'startup' | 'readiness' | 'liveness';
export type ProbeVerdict = 'success' | 'failure';

/** Consecutive outcomes of one probe of one container. */
export interface ProbeCount {
  readonly last: ProbeVerdict | undefined;
  readonly inARow: number;
  /** The current verdict; `undefined` until a threshold was reached for the first time. */
  readonly verdict: ProbeVerdict | undefined;
}

export const NO_PROBE_YET: ProbeCount = { last: undefined, inARow: 0, verdict: undefined };

export function countProbe(count: ProbeCount, outcome: ProbeVerdict, probe: Probe): ProbeCount {
  const inARow = count.last === outcome ? count.inARow + 1 : 1;
  const threshold = outcome === 'failure' ? (probe.failureThreshold ?? 3) : (probe.successThreshold ?? 1);
  return { last: outcome, inARow, verdict: inARow >= threshold ? outcome : count.verdict };
}
