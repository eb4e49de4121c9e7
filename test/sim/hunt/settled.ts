import type { KubeObject, Lease } from '@holdfast/api';
import type { CommittedChange } from './commit-rules.ts';

export interface ReplicaDeps {
  /** Only one manager acts at a time. */
  readonly hasOneActor: boolean;
  /** When a process that writes for a controller last crashed: what it had written is known to nobody. */
  readonly crashedAtMs: () => number;
}

const MANAGER_LEASE = 'kube-controller-manager';

/**
 * For how long one manager has acted alone, whose writes were all answered: it knows what it has written. Looks at every
 * commit.
 */
export function settling({ hasOneActor, crashedAtMs }: ReplicaDeps): (change: CommittedChange) => number {
  let changedAtMs = Number.NEGATIVE_INFINITY;
  return ({ resource, name, before, after, nowMs }) => {
    if (resource === 'leases' && name === MANAGER_LEASE && holderOf(before) !== holderOf(after)) changedAtMs = nowMs;
    return hasOneActor ? nowMs - Math.max(changedAtMs, crashedAtMs()) : Number.NEGATIVE_INFINITY;
  };
}

const holderOf = (object: KubeObject | undefined): string | undefined =>
  (object as Lease | undefined)?.spec.holderIdentity;
