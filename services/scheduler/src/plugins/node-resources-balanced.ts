import type { NodeInfo } from '../domain/node-info.ts';
import type { PodInfo } from '../domain/pod-info.ts';
import { isExtended } from '../domain/resource-scores.ts';
import type { PluginDefinition } from '../framework/definition.ts';
import { NODE_SCORE_MAX } from '../limits.ts';
import { decodeNodeResourcesBalancedArgs } from './args/node-resources-args.ts';

/** Prefers nodes with a balanced use of resources, so that none is stranded. */
export const NODE_RESOURCES_BALANCED: PluginDefinition = {
  name: 'NodeResourcesBalancedAllocation',
  points: ['preScore', 'score'],
  weight: 1,
  configure: (raw) => {
    const names = decodeNodeResourcesBalancedArgs(raw).map(({ name }) => name);
    return () => ({ localScore: true, preScore: ({ pod }) => ({ score: (node) => balance(pod, node, names) }) });
  },
};

function balance(pod: PodInfo, node: NodeInfo, names: readonly string[]): number {
  const fractions = names.flatMap((name) => fraction(pod, node, name) ?? []);
  return Math.trunc((1 - deviation(fractions)) * NODE_SCORE_MAX);
}

function deviation(fractions: readonly number[]): number {
  const [a, b] = fractions;
  if (a === undefined || b === undefined) return 0;
  if (fractions.length === 2) return Math.abs((a - b) / 2);
  const mean = fractions.reduce((sum, each) => sum + each, 0) / fractions.length;
  // Multiplies instead of using a power: the last bit decides how the score is truncated.
  return Math.sqrt(fractions.reduce((sum, each) => sum + (each - mean) * (each - mean), 0) / fractions.length);
}

function fraction(pod: PodInfo, node: NodeInfo, name: string): number | undefined {
  const capacity = node.allocatable.get(name) ?? 0;
  const wanted = pod.requests.get(name) ?? 0;
  if (capacity === 0 || (wanted === 0 && isExtended(name))) return undefined;
  return Math.min(1, ((node.requested.get(name) ?? 0) + wanted) / capacity);
}
