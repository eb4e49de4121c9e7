import type { PodInfo } from '../domain/pod-info.ts';
import { type Action, compileConstraints, NO_CONSTRAINTS, type SpreadConstraints } from '../domain/pod-spread.ts';
import type { Cycle } from '../framework/plugin.ts';
import type { PodTopologySpreadArgs } from './args/pod-topology-spread-args.ts';

/** Returns the pod's own constraints of one kind; without any, the defaults over the pods of its owners. */
export function constraintsOf({ pod, snapshot }: Cycle, when: Action, args: PodTopologySpreadArgs): SpreadConstraints {
  const { mistake } = pod.spread;
  if (mistake !== undefined) throw new Error(`a topology spread constraint of the pod cannot be used: ${mistake}`);
  if (pod.spread.isOwn) return pod.spread[when];
  const defaults = args.defaultConstraints.filter(({ whenUnsatisfiable }) => whenUnsatisfiable === when);
  const selector = defaults.length === 0 ? undefined : snapshot.owners.selectorFor(pod);
  if (selector === undefined) return NO_CONSTRAINTS;
  return compileConstraints(pod.pod, defaults, { selectorOf: () => selector, requireAllKeys: !args.systemDefaulted });
}

/** Only selector and namespace decide whether a pod counts for the constraint: changes of other pods cannot help. */
export function concerns({ namespace, spread }: PodInfo, other: PodInfo): boolean {
  if (namespace !== other.namespace) return false;
  if (!spread.isOwn) return true;
  const { constraints } = spread.DoNotSchedule;
  return constraints.some(({ selects }) => selects(other));
}
