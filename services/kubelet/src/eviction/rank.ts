import { type Pod, podRequests } from '@holdfast/api';
import { parseQuantity, value } from '@holdfast/machinery';
import { type PodSample, podDisk, podMemory } from '../stats/port.ts';
import type { StarvedResource } from './signals.ts';

type Order = (a: PodSample, b: PodSample) => number;

/** Whom to end first when this resource runs short. */
export function rank(pods: readonly PodSample[], resource: StarvedResource): readonly PodSample[] {
  const used = USED[resource];
  const orders: readonly Order[] =
    resource === 'pids'
      ? [byPriority, byExcess(used, NOTHING)]
      : [byExceeding(used, resource), byPriority, byExcess(used, resource)];
  return pods.toSorted((a, b) => {
    for (const order of orders) {
      const answer = order(a, b);
      if (answer !== 0) return answer;
    }
    return 0;
  });
}

type Used = (pod: PodSample) => number | undefined;

const USED: Readonly<Record<StarvedResource, Used>> = {
  memory: podMemory,
  'ephemeral-storage': (pod) => podDisk(pod)?.bytes,
  inodes: (pod) => podDisk(pod)?.inodes,
  pids: ({ processes }) => processes,
};

const NOTHING = '';

/** Pods without measurements first, then those that exceed their requests. */
function byExceeding(used: Used, resource: string): Order {
  return (a, b) => {
    const [ofA, ofB] = [used(a), used(b)];
    if (ofA === undefined || ofB === undefined) return Number(ofB === undefined) - Number(ofA === undefined);
    return Number(ofB > requestOf(b.pod, resource)) - Number(ofA > requestOf(a.pod, resource));
  };
}

const byPriority: Order = (a, b) => (a.pod.spec.priority ?? 0) - (b.pod.spec.priority ?? 0);

/** By the excess over the request: the highest first. */
function byExcess(used: Used, resource: string): Order {
  const excess = (each: PodSample): number => (used(each) ?? 0) - requestOf(each.pod, resource);
  return (a, b) => {
    const [ofA, ofB] = [used(a), used(b)];
    if (ofA === undefined || ofB === undefined) return Number(ofB === undefined) - Number(ofA === undefined);
    return excess(b) - excess(a);
  };
}

export function requestOf(pod: Pod, resource: string): number {
  const text = podRequests(pod)[resource];
  return text === undefined ? 0 : value(parseQuantity(text));
}
