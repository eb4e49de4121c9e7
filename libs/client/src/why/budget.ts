import { isPodFinished, isPodReady, PODS, type Pod, type PodDisruptionBudget, selectorOf } from '@holdfast/api/facts';
import { type Finding, isWait, namesOf, quoted } from './finding.ts';
import { explainPod } from './pod.ts';
import type { PodFacts } from './pod-facts.ts';
import type { Reader } from './reader.ts';
import { blockerOf } from './workload.ts';

export interface BudgetFacts {
  readonly budget: PodDisruptionBudget;
  /** The selected pods that are not ready. */
  readonly unready: readonly Pod[];
  readonly blocker: PodFacts | undefined;
}

export async function observeBudget(budget: PodDisruptionBudget, reader: Reader): Promise<BudgetFacts> {
  const selector = selectorOf(budget.spec.selector);
  const pods = await reader.list(PODS, budget.metadata.namespace);
  const isUnready = (pod: Pod): boolean => !isPodFinished(pod) && !isPodReady(pod);
  const unready = pods.filter((pod) => selector.matches(pod.metadata.labels ?? {}) && isUnready(pod));
  return { budget, unready, blocker: await blockerOf(unready[0], reader) };
}

export function explainBudget({ budget, unready, blocker }: BudgetFacts, now: number): Finding {
  const { disruptionsAllowed, currentHealthy, desiredHealthy, expectedPods, conditions } = budget.status;
  if (disruptionsAllowed > 0) return { rests: `it permits ${disruptionsAllowed} evictions at the moment` };
  const condition = conditions?.find(({ type }) => type === 'DisruptionAllowed');
  const since = condition?.lastTransitionTime ?? undefined;
  if (condition === undefined || condition.reason === 'SyncFailed') {
    const said = condition === undefined ? 'it has not looked at it' : quoted(condition.message);
    return {
      waitsFor: `it permits no eviction, because the disruption controller cannot count its pods: ${said}`,
      endsWhen: 'the controller can count them',
      since,
    };
  }
  const counts = `${currentHealthy} of ${expectedPods} pods are healthy and it requires ${desiredHealthy}`;
  if (desiredHealthy >= expectedPods && unready.length === 0) {
    const endsWhen = 'its workload gets more replicas, or somebody lowers minAvailable or raises maxUnavailable';
    return {
      waitsFor: `it permits no eviction: ${counts}, so it permits none even while all are healthy`,
      endsWhen,
      since,
    };
  }
  const names =
    unready.length === 0 ? '' : `; not ready: ${namesOf(unready.map(({ metadata }) => metadata.name ?? ''))}`;
  const finding = blocker === undefined ? undefined : explainPod(blocker, now);
  const first = finding !== undefined && isWait(finding) ? ` (${blocker?.pod.metadata.name}: ${finding.waitsFor})` : '';
  const endsWhen = `more than ${desiredHealthy} of its pods are healthy`;
  return { waitsFor: `it permits no eviction: ${counts}${names}${first}`, endsWhen, since };
}
