import { compileTerm } from '../domain/node-affinity.ts';
import { normalizeByHighest } from '../framework/normalize.ts';
import { type Plugin, rejectedForGood } from '../framework/plugin.ts';

/** `nodeSelector` and node affinity. */
export const createNodeAffinity = (): Plugin => ({
  name: 'NodeAffinity',
  filter: ({ pod }) => {
    const { requiredNodes } = pod;
    if (requiredNodes === undefined) return undefined;
    return (node) =>
      requiredNodes(node) ? undefined : rejectedForGood("node(s) didn't match Pod's node affinity/selector");
  },
  score: ({ pod }) => {
    const preferred = pod.pod.spec.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
    if (preferred.length === 0) return undefined;
    const terms = preferred.map(({ preference, weight }) => ({ weight, matches: compileTerm(preference) }));
    return {
      score: (node) => terms.reduce((sum, term) => sum + (term.matches(node) ? term.weight : 0), 0),
      normalize: (scores) => normalizeByHighest(scores, false),
    };
  },
  weight: 2,
  retryAfter: ['node-added', 'node-changed'],
});
