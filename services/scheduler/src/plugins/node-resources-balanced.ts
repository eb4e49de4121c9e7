import type { NodeInfo } from '../domain/node-info.ts';
import type { PodInfo } from '../domain/pod-info.ts';
import type { PluginDefinition } from '../framework/definition.ts';
import { NODE_SCORE_MAX } from '../limits.ts';
import { decodeNodeResourcesBalancedArgs } from './args/node-resources-args.ts';

/** Likes nodes on which resources would be used to equal parts, so that none is stranded. */
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
  return Math.sqrt(fractions.reduce((sum, each) => sum + (each - mean) ** 2, 0) / fractions.length);
}

function fraction(pod: PodInfo, node: NodeInfo, name: string): number | undefined {
  const capacity = node.allocatable.get(name) ?? 0;
  if (capacity === 0) return undefined;
  return Math.min(1, ((node.requested.get(name) ?? 0) + (pod.requests.get(name) ?? 0)) / capacity);
}
