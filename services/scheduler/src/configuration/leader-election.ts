import { type FieldError, invalid } from '@holdfast/machinery';
import { LEASE_DURATION, LEASE_NAME, LEASE_NAMESPACE, LEASE_RENEW_DEADLINE, LEASE_RETRY_PERIOD } from '../limits.ts';
import { parsePositiveDuration } from './extenders.ts';
import type { WireLeaderElection } from './wire.ts';

export interface LeaderElectionChoice {
  /** Absent: the command line decides. */
  readonly leaderElect: boolean | undefined;
  readonly lease: { readonly namespace: string; readonly name: string };
  readonly leaseDurationMs: number;
  readonly renewDeadlineMs: number;
  readonly retryPeriodMs: number;
}

const PATH = 'leaderElection';

/** Mistakes count even when the file does not enable the election: the command line may enable it. */
export function decodeLeaderElection(wire: WireLeaderElection, mistakes: FieldError[]): LeaderElectionChoice {
  const { leaseDuration = LEASE_DURATION, renewDeadline = LEASE_RENEW_DEADLINE } = wire;
  const { retryPeriod = LEASE_RETRY_PERIOD, resourceLock = 'leases', leaderElect } = wire;
  const durationOf = (field: string, text: string): number => {
    const ms = parsePositiveDuration(text);
    if (ms !== undefined) return ms;
    const detail = /^0[a-z]*$/.test(text) ? 'must be greater than zero' : 'must be a duration such as 15s';
    mistakes.push(invalid(`${PATH}.${field}`, text, detail));
    return Number.NaN;
  };
  const leaseDurationMs = durationOf('leaseDuration', leaseDuration);
  const renewDeadlineMs = durationOf('renewDeadline', renewDeadline);
  const retryPeriodMs = durationOf('retryPeriod', retryPeriod);
  if (leaseDurationMs <= renewDeadlineMs) {
    mistakes.push(invalid(`${PATH}.leaseDuration`, leaseDuration, 'LeaseDuration must be greater than RenewDeadline'));
  }
  if (renewDeadlineMs <= retryPeriodMs) {
    mistakes.push(invalid(`${PATH}.renewDeadline`, renewDeadline, 'RenewDeadline must be greater than RetryPeriod'));
  }
  if (resourceLock !== 'leases') {
    mistakes.push(invalid(`${PATH}.resourceLock`, resourceLock, 'resourceLock value must be "leases"'));
  }
  // An empty name counts as absent, like all defaults of this file.
  const lease = { namespace: wire.resourceNamespace || LEASE_NAMESPACE, name: wire.resourceName || LEASE_NAME };
  return { leaderElect, lease, leaseDurationMs, renewDeadlineMs, retryPeriodMs };
}
