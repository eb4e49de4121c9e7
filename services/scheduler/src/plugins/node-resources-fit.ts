import type { NodeInfo } from '../domain/node-info.ts';
import type { PodInfo } from '../domain/pod-info.ts';
import { type Plugin, type Rejection, rejected } from '../framework/plugin.ts';
import { NODE_SCORE_MAX } from '../limits.ts';

/** What the pod requests must be free on the node; among those, the emptiest node is liked best. */
export const createNodeResourcesFit = (): Plugin => ({
  name: 'NodeResourcesFit',
  filter:
    ({ pod }) =>
    (node) =>
      rejectionOf(pod, node),
  score: ({ pod }) => ({ score: (node) => leastAllocated(pod, node) }),
  retryAfter: ['node-added', 'node-changed', 'pod-removed', 'pod-changed'],
});

const SCORED_RESOURCES = ['cpu', 'memory'] as const;

function rejectionOf(pod: PodInfo, node: NodeInfo): Rejection | undefined {
  const reasons: string[] = node.pods.size + 1 > node.podsAllowed ? ['Too many pods'] : [];
  for (const [name, wanted] of pod.requests) {
    if (wanted <= 0) continue;
    const free = (node.allocatable.get(name) ?? 0) - (node.requested.get(name) ?? 0);
    if (wanted > free) reasons.push(`Insufficient ${name}`);
  }
  return reasons.length === 0 ? undefined : rejected(...reasons);
}

function leastAllocated(pod: PodInfo, node: NodeInfo): number {
  let total = 0;
  let resources = 0;
  for (const name of SCORED_RESOURCES) {
    const capacity = node.allocatable.get(name) ?? 0;
    if (capacity === 0) continue;
    resources++;
    const used = (node.requestedForScoring.get(name) ?? 0) + (pod.requestsForScoring.get(name) ?? 0);
    if (used <= capacity) total += Math.trunc(((capacity - used) * NODE_SCORE_MAX) / capacity);
  }
  return resources === 0 ? 0 : Math.trunc(total / resources);
}
