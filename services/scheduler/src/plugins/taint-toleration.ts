import { firstUntolerated, HARD_EFFECTS, tolerates } from '../domain/tolerations.ts';
import { normalizeByHighest } from '../framework/normalize.ts';
import { type Plugin, rejectedForGood } from '../framework/plugin.ts';

/** Hard taints keep pods away that do not tolerate them; soft ones make a node less liked. */
export const createTaintToleration = (): Plugin => ({
  name: 'TaintToleration',
  filter:
    ({ pod }) =>
    ({ taints }) => {
      const taint = taints.length === 0 ? undefined : firstUntolerated(taints, pod.tolerations, HARD_EFFECTS);
      if (taint === undefined) return undefined;
      return rejectedForGood(`node(s) had untolerated taint {${taint.key}: ${taint.value ?? ''}}`);
    },
  score: ({ pod }, feasible) => {
    if (!feasible.some(({ taints }) => taints.some(({ effect }) => effect === 'PreferNoSchedule'))) return undefined;
    const relevant = pod.tolerations.filter(({ effect = '' }) => effect === '' || effect === 'PreferNoSchedule');
    return {
      score: ({ taints }) =>
        taints.filter(
          (taint) => taint.effect === 'PreferNoSchedule' && !relevant.some((each) => tolerates(each, taint)),
        ).length,
      normalize: (scores) => normalizeByHighest(scores, true),
    };
  },
  weight: 3,
  retryAfter: ['node-added', 'node-changed'],
});
