import type { Log } from '@holdfast/platform';
import type { Extender } from './adapters/extender.ts';
import { pickBest, totalScores } from './domain/choose-node.ts';
import type { NodeInfo } from './domain/node-info.ts';
import type { PodInfo } from './domain/pod-info.ts';
import type { Candidate } from './domain/preemption.ts';
import { type Decision, findFeasible, rejectionsOf, type ScheduleOptions } from './domain/schedule.ts';
import type { Cycle } from './framework/plugin.ts';
import type { NodeRejection } from './framework/prepared.ts';

/** The rejecting plugin when an extender rejected a node: any event may help such a pod. */
export const EXTENDER = 'Extender';

/** The same decision with extenders: they see only nodes that all plugins accept. */
export async function scheduleWithExtenders(
  cycle: Cycle,
  extenders: readonly Extender[],
  options: ScheduleOptions & { readonly log: Log },
): Promise<Decision> {
  const found = findFeasible(cycle, options);
  if (found.kind === 'refuse') return found;
  const { search } = found;
  const asked = extenders.filter((extender) => extender.concerns(cycle.pod));
  const rejections = rejectionsOf(search);
  let { feasible } = found;
  for (const extender of asked) {
    if (feasible.length === 0) break;
    feasible = await filterBy(extender, cycle.pod, { feasible, rejections, log: options.log });
  }
  if (feasible.length === 0) {
    const plugins = new Set([
      ...search.narrowedBy,
      ...search.rejected.map(({ rejection }) => rejection.plugin),
      EXTENDER,
    ]);
    return {
      kind: 'refuse',
      rejections,
      others: search.others,
      podReason: undefined,
      plugins,
      filters: search.filters,
      results: cycle.snapshot.sharedBy(options.profile, cycle.pod),
    };
  }
  const totals = feasible.length === 1 ? [0] : totalScores(cycle, feasible, options);
  if (feasible.length > 1) {
    for (const extender of asked) await addScores(extender, cycle.pod, { feasible, totals, log: options.log });
  }
  return { kind: 'place', nodeName: pickBest(feasible, totals, options.random).name, looked: search.looked };
}

interface Filtering {
  readonly feasible: readonly NodeInfo[];
  readonly rejections: Map<string, NodeRejection>;
  readonly log: Log;
}

async function filterBy(
  extender: Extender,
  pod: PodInfo,
  { feasible, rejections, log }: Filtering,
): Promise<readonly NodeInfo[]> {
  try {
    const answer = await extender.filter(pod, feasible);
    for (const [name, rejection] of answer.failed) rejections.set(name, { plugin: EXTENDER, ...rejection });
    return answer.feasible;
  } catch (error) {
    if (!extender.config.ignorable) throw error;
    log.warn('an extender was skipped in a decision', { extender: extender.name, pod: pod.key, error });
    return feasible;
  }
}

/** A failed preference is ignored. */
async function addScores(
  extender: Extender,
  pod: PodInfo,
  { feasible, totals, log }: { readonly feasible: readonly NodeInfo[]; readonly totals: number[]; readonly log: Log },
): Promise<void> {
  try {
    const scores = await extender.prioritize(pod, feasible);
    for (const [i, { name }] of feasible.entries()) totals[i] = (totals[i] ?? 0) + (scores.get(name) ?? 0);
  } catch (error) {
    log.warn('an extender did not score', { extender: extender.name, pod: pod.key, error });
  }
}

/** Returns the preemption candidates that all extenders accept. */
export async function candidatesOfExtenders(
  pod: PodInfo,
  extenders: readonly Extender[],
  { candidates, log }: { readonly candidates: readonly Candidate[]; readonly log: Log },
): Promise<readonly Candidate[]> {
  let left = candidates;
  for (const extender of extenders) {
    if (left.length === 0 || !extender.concerns(pod)) continue;
    try {
      left = await extender.preempt(pod, left);
    } catch (error) {
      if (!extender.config.ignorable) throw error;
      log.warn('an extender was skipped in preemption', { extender: extender.name, pod: pod.key, error });
    }
  }
  return left;
}
