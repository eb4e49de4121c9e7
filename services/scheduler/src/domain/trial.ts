import type { Snapshot } from '../framework/plugin.ts';
import type { CountsByNode, PodGroup } from './match-counts.ts';
import type { NodeInfo } from './node-info.ts';
import { type PodInfo, placedOn } from './pod-info.ts';

/** The cluster as it would be with other pods on one node. The snapshot behind it is not touched. */
export interface Trial extends Snapshot {
  readonly tried: NodeInfo;
  add(pod: PodInfo): void;
  remove(pod: PodInfo): void;
}

export function createTrial(snapshot: Snapshot, original: NodeInfo): Trial {
  const tried = original.without([]);
  const added = new Map<string, PodInfo>();
  const removed = new Map<string, PodInfo>();
  const replace = (nodes: readonly NodeInfo[]): readonly NodeInfo[] =>
    nodes.map((node) => (node === original ? tried : node));
  const nodes = replace(snapshot.nodes);
  return {
    tried,
    nodes,
    node: (name) => (name === original.name ? tried : snapshot.node(name)),
    get nodesWithAffinityPods() {
      const others = snapshot.nodesWithAffinityPods.filter((node) => node !== original);
      return tried.podsWithAffinity.size > 0 ? [...others, tried] : others;
    },
    countsOf: (group) => adjusted(snapshot.countsOf(group), group, { nodeName: original.name, added, removed }),
    namespaceLabels: snapshot.namespaceLabels,
    nominatedOn: () => [],
    nominationOf: () => '',
    add: (pod) => {
      const placed = placedOn(pod, original.name);
      tried.add(placed);
      if (!removed.delete(pod.uid)) added.set(pod.uid, placed);
    },
    remove: (pod) => {
      tried.remove(pod.uid);
      if (!added.delete(pod.uid)) removed.set(pod.uid, pod);
    },
  };
}

function adjusted(
  counts: CountsByNode,
  group: PodGroup,
  change: {
    nodeName: string;
    added: ReadonlyMap<string, PodInfo>;
    removed: ReadonlyMap<string, PodInfo>;
  },
): CountsByNode {
  const more = [...change.added.values()].filter((pod) => group.includes(pod)).length;
  const fewer = [...change.removed.values()].filter((pod) => group.includes(pod)).length;
  if (more === fewer) return counts;
  const count = (counts.get(change.nodeName) ?? 0) + more - fewer;
  const result = new Map(counts);
  if (count === 0) result.delete(change.nodeName);
  else result.set(change.nodeName, count);
  return result;
}
