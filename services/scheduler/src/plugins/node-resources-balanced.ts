import type { NodeInfo } from '../domain/node-info.ts';
import type { PodInfo } from '../domain/pod-info.ts';
import type { Plugin } from '../framework/plugin.ts';
import { NODE_SCORE_MAX } from '../limits.ts';

/** Likes nodes on which cpu and memory would be used to equal parts, so that neither is stranded. */
export const createNodeResourcesBalanced = (): Plugin => ({
  name: 'NodeResourcesBalancedAllocation',
  score: ({ pod }) => ({ score: (node) => balance(pod, node) }),
});

function balance(pod: PodInfo, node: NodeInfo): number {
  const cpu = fraction(pod, node, 'cpu');
  const memory = fraction(pod, node, 'memory');
  const deviation = cpu === undefined || memory === undefined ? 0 : Math.abs((cpu - memory) / 2);
  return Math.trunc((1 - deviation) * NODE_SCORE_MAX);
}

function fraction(pod: PodInfo, node: NodeInfo, name: string): number | undefined {
  const capacity = node.allocatable.get(name) ?? 0;
  if (capacity === 0) return undefined;
  return Math.min(1, ((node.requested.get(name) ?? 0) + (pod.requests.get(name) ?? 0)) / capacity);
}
