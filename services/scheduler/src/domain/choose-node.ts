import { invariant, type Random } from '@holdfast/platform';
import type { Asked } from '../framework/asked.ts';
import type { Cycle, NodeScorer } from '../framework/plugin.ts';
import type { Profile, ScorePlugin } from '../framework/profile.ts';
import { type PluginTimer, statusOfScorer, succeeded, untimed } from '../framework/timing.ts';
import type { NodeInfo } from './node-info.ts';
import type { ScheduleOptions } from './schedule.ts';

/** Breaks ties at random. */
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
  { profile, time = untimed, plugins }: Pick<ScheduleOptions, 'profile' | 'time' | 'plugins'>,
): number[] {
  const { local, others } = time('PreScore', () => scorersOf({ cycle, feasible, profile, plugins }));
  return time('Score', () => {
    const totals = sharedScores(cycle, feasible, { profile, scorers: local });
    for (const { scorer, weight, plugin, asked } of others) {
      asked.score += feasible.length;
      const scores = feasible.map((node) => scorer.score(node));
      const normalize = (): void => scorer.normalize?.(scores, feasible);
      if (plugins === undefined || scorer.normalize === undefined) normalize();
      else plugins.run({ plugin, point: 'ScoreExtensionNormalize', statusOf: succeeded }, normalize);
      for (let i = 0; i < totals.length; i++) totals[i] = (totals[i] ?? 0) + weight * (scores[i] ?? 0);
    }
    return totals;
  });
}

interface Weighted {
  readonly scorer: NodeScorer;
  readonly weight: number;
  readonly plugin: string;
  readonly asked: Asked;
}

interface Scorers {
  /** Scores that pods with equal needs share. */
  readonly local: readonly Weighted[];
  readonly others: readonly Weighted[];
}

interface Scoring {
  readonly cycle: Cycle;
  readonly feasible: readonly NodeInfo[];
  readonly profile: Profile;
  readonly plugins: PluginTimer | undefined;
}

function scorersOf({ cycle, feasible, profile, plugins }: Scoring): Scorers {
  const local: Weighted[] = [];
  const others: Weighted[] = [];
  for (const plugin of profile.scorers) {
    const { name, weight, asked } = plugin;
    const scorer =
      plugins === undefined ? plugin.call(cycle, feasible) : timedScorer(plugins, plugin, { cycle, feasible });
    if (scorer === undefined) continue;
    asked.preScore++;
    (plugin.local ? local : others).push({ scorer, weight, plugin: name, asked });
  }
  return { local, others };
}

function timedScorer(
  timer: PluginTimer,
  { name: plugin, call }: ScorePlugin,
  { cycle, feasible }: Pick<Scoring, 'cycle' | 'feasible'>,
): NodeScorer | undefined {
  const prepare = { plugin, point: 'PreScore', statusOf: statusOfScorer };
  const scorer = timer.run(prepare, () => call(cycle, feasible));
  if (scorer === undefined) return undefined;
  timer.few({ plugin, point: 'Score', statusOf: succeeded }, (node: NodeInfo) => scorer.score(node), feasible);
  return scorer;
}

/** Results of equal pods stay valid until the node changes. */
function sharedScores(
  { pod, snapshot }: Cycle,
  feasible: readonly NodeInfo[],
  { profile, scorers }: { readonly profile: Profile; readonly scorers: readonly Weighted[] },
): number[] {
  const results = snapshot.sharedBy(profile, pod);
  const score = (node: NodeInfo): number => {
    let total = 0;
    for (const { scorer, weight, asked } of scorers) {
      asked.score++;
      total += weight * scorer.score(node);
    }
    return total;
  };
  const totals: number[] = [];
  for (const node of feasible) totals.push(results.scoreOf(node, score));
  return totals;
}
