import { invariant, type Random } from '@holdfast/platform';
import type { Cycle, NodeScorer } from '../framework/plugin.ts';
import type { Profile } from '../framework/profile.ts';
import { untimed } from '../framework/timing.ts';
import type { NodeInfo } from './node-info.ts';
import type { ScheduleOptions } from './schedule.ts';

/** Ties are drawn. */
export function pickBest(feasible: readonly NodeInfo[], totals: readonly number[], random: Random): NodeInfo {
  const [first] = feasible;
  invariant(first !== undefined, 'a choice needs a feasible node');
  if (feasible.length === 1) return first;
  let highest = Number.NEGATIVE_INFINITY;
  let equals: NodeInfo[] = [];
  for (let i = 0; i < feasible.length; i++) {
    const total = totals[i] ?? 0;
    const node = feasible[i] ?? first;
    if (total > highest) {
      highest = total;
      equals = [node];
    } else if (total === highest) equals.push(node);
  }
  return equals[random.int(equals.length)] ?? first;
}

export function totalScores(
  cycle: Cycle,
  feasible: readonly NodeInfo[],
  { profile, time = untimed }: Pick<ScheduleOptions, 'profile' | 'time'>,
): number[] {
  const { local, others } = time('PreScore', () => scorersOf(cycle, feasible, profile));
  return time('Score', () => {
    const totals = sharedScores(cycle, feasible, { profile, scorers: local });
    for (const { scorer, weight } of others) {
      const scores = feasible.map((node) => scorer.score(node));
      scorer.normalize?.(scores, feasible);
      for (let i = 0; i < totals.length; i++) totals[i] = (totals[i] ?? 0) + weight * (scores[i] ?? 0);
    }
    return totals;
  });
}

interface Weighted {
  readonly scorer: NodeScorer;
  readonly weight: number;
}

interface Scorers {
  /** Whose scores pods with equal needs share. */
  readonly local: readonly Weighted[];
  readonly others: readonly Weighted[];
}

function scorersOf(cycle: Cycle, feasible: readonly NodeInfo[], { scorers }: Profile): Scorers {
  const local: Weighted[] = [];
  const others: Weighted[] = [];
  for (const { call, weight, local: isLocal } of scorers) {
    const scorer = call(cycle, feasible);
    if (scorer !== undefined) (isLocal ? local : others).push({ scorer, weight });
  }
  return { local, others };
}

/** What equal pods found is true until the node changes. */
function sharedScores(
  { pod, snapshot }: Cycle,
  feasible: readonly NodeInfo[],
  { profile, scorers }: { readonly profile: Profile; readonly scorers: readonly Weighted[] },
): number[] {
  const results = snapshot.sharedBy(profile, pod);
  const score = (node: NodeInfo): number => {
    let total = 0;
    for (const { scorer, weight } of scorers) total += weight * scorer.score(node);
    return total;
  };
  const totals: number[] = [];
  for (const node of feasible) totals.push(results.scoreOf(node, score));
  return totals;
}
