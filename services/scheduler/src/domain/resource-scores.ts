import { NODE_SCORE_MAX } from '../limits.ts';
import type { NodeInfo } from './node-info.ts';
import type { PodInfo } from './pod-info.ts';

interface Weighted {
  readonly name: string;
  readonly weight: number;
}

interface Point {
  readonly utilization: number;
  readonly score: number;
}

export interface ResourceScoring {
  readonly strategy: 'LeastAllocated' | 'MostAllocated' | 'RequestedToCapacityRatio';
  readonly resources: readonly Weighted[];
  readonly shape: readonly Point[];
}

/** Returns 0..100 for one resource of a node, given its use. */
type ResourceScore = (used: number, capacity: number) => number;

/** Scores a node's resource use, including the pod, by the strategy. */
export function nodeScorer(scoring: ResourceScoring, pod: PodInfo): (node: NodeInfo) => number {
  const scoreOf = resourceScore(scoring);
  const rounds = scoring.strategy === 'RequestedToCapacityRatio';
  return (node) => {
    let total = 0;
    let weights = 0;
    for (const { name, weight } of scoring.resources) {
      const use = useOf(name, pod, node);
      if (use === undefined) continue;
      const score = scoreOf(use.used, use.capacity);
      if (rounds && score === 0) continue;
      total += score * weight;
      weights += weight;
    }
    if (weights === 0) return 0;
    return rounds ? Math.round(total / weights) : Math.trunc(total / weights);
  };
}

/**
 * Returns `undefined` when the resource does not count: the node lacks it, or it is an extended resource that the pod
 * does not request.
 */
function useOf(name: string, pod: PodInfo, node: NodeInfo): { used: number; capacity: number } | undefined {
  const capacity = node.allocatable.get(name) ?? 0;
  if (capacity === 0) return undefined;
  if (isExtended(name) && (pod.requests.get(name) ?? 0) === 0) return undefined;
  const used = (node.requestedForScoring.get(name) ?? 0) + (pod.requestsForScoring.get(name) ?? 0);
  return { used, capacity };
}

const COMMON: ReadonlySet<string> = new Set(['cpu', 'memory', 'ephemeral-storage']);

/** A resource that only some nodes have. */
export const isExtended = (name: string): boolean => !COMMON.has(name);

function resourceScore({ strategy, shape }: ResourceScoring): ResourceScore {
  switch (strategy) {
    case 'LeastAllocated':
      return (used, capacity) => (used > capacity ? 0 : Math.trunc(((capacity - used) * NODE_SCORE_MAX) / capacity));
    case 'MostAllocated':
      return (used, capacity) => Math.trunc((Math.min(used, capacity) * NODE_SCORE_MAX) / capacity);
    case 'RequestedToCapacityRatio': {
      const curve = brokenLine(shape.map(({ utilization, score }) => ({ utilization, score: score * 10 })));
      return (used, capacity) => curve(used > capacity ? 100 : Math.trunc((used * 100) / capacity));
    }
  }
}

/** Linear between the points; constant before the first and after the last. */
function brokenLine(points: readonly Point[]): (utilization: number) => number {
  return (utilization) => {
    const after = points.findIndex((point) => utilization <= point.utilization);
    if (after === -1) return points.at(-1)?.score ?? 0;
    const [a, b] = [points[after - 1], points[after]];
    if (a === undefined || b === undefined) return b?.score ?? 0;
    // Multiplies first: 29 of 100 is 29, although 0.29 * 100 is slightly less.
    const rise = (b.score - a.score) * (utilization - a.utilization);
    return a.score + Math.trunc(rise / (b.utilization - a.utilization));
  };
}
