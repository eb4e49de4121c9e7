import { firstUntolerated, HARD_EFFECTS, tolerates } from '@holdfast/api';
import type { NodeInfo } from '../domain/node-info.ts';
import type { PodInfo } from '../domain/pod-info.ts';
import { define } from '../framework/definition.ts';
import { normalizeByHighest } from '../framework/normalize.ts';
import { checking, type NodeScorer, type Rejection, rejectedForGood } from '../framework/plugin.ts';

/** NoSchedule and NoExecute taints reject pods that do not tolerate them; PreferNoSchedule taints lower the score. */
export const TAINT_TOLERATION = define(
  'TaintToleration',
  ['filter', 'preScore', 'score'],
  () => ({
    localFilter: true,
    preFilter: ({ pod }) => checking((node) => rejectionOf(pod, node)),
    preScore: ({ pod, snapshot }, feasible) => (snapshot.anySoftTaint ? scorerOf(pod, feasible) : undefined),
    wakesOn: { 'node-added': isTolerated, 'node-taints': isTolerated },
  }),
  3,
);

const isTolerated = (pod: PodInfo, node: NodeInfo): boolean => rejectionOf(pod, node) === undefined;

function rejectionOf({ tolerations }: PodInfo, { taints }: NodeInfo): Rejection | undefined {
  const taint = taints.length === 0 ? undefined : firstUntolerated(taints, tolerations, HARD_EFFECTS);
  if (taint === undefined) return undefined;
  return rejectedForGood(`node(s) had untolerated taint {${taint.key}: ${taint.value ?? ''}}`);
}

function scorerOf({ tolerations }: PodInfo, feasible: readonly NodeInfo[]): NodeScorer | undefined {
  if (!feasible.some(({ taints }) => taints.some(({ effect }) => effect === 'PreferNoSchedule'))) return undefined;
  const relevant = tolerations.filter(({ effect = '' }) => effect === '' || effect === 'PreferNoSchedule');
  return {
    score: ({ taints }) =>
      taints.filter((taint) => taint.effect === 'PreferNoSchedule' && !relevant.some((each) => tolerates(each, taint)))
        .length,
    normalize: (scores) => normalizeByHighest(scores, true),
  };
}
