import type { NodeInfo } from '../domain/node-info.ts';
import type { PodInfo } from '../domain/pod-info.ts';
import { isBeingCleared } from '../domain/preemption.ts';
import { nodeScorer } from '../domain/resource-scores.ts';
import { addTo } from '../domain/resources.ts';
import type { PluginDefinition, PluginHandle } from '../framework/definition.ts';
import { checking, type Plugin, type Rejection, rejected } from '../framework/plugin.ts';
import { REJECTIONS_SHARED_MAX } from '../limits.ts';
import { decodeNodeResourcesFitArgs, type NodeResourcesFitArgs } from './args/node-resources-args.ts';

/** The pod's requests must be free on the node. Prefers the emptiest (or the fullest) node. */
export const NODE_RESOURCES_FIT: PluginDefinition = {
  name: 'NodeResourcesFit',
  points: ['preFilter', 'filter', 'preScore', 'score'],
  weight: 1,
  configure: (raw) => {
    const args = decodeNodeResourcesFitArgs(raw);
    return (handle) => createNodeResourcesFit(args, handle);
  },
};

/** True for a resource that this plugin ignores. */
type Ignores = (name: string) => boolean;

function createNodeResourcesFit(args: NodeResourcesFitArgs, { cluster, ignoredResources }: PluginHandle): Plugin {
  const ignored = new Set([...args.ignoredResources, ...ignoredResources]);
  const groups = new Set(args.ignoredResourceGroups);
  const ignores: Ignores = (name) => ignored.has(name) || groups.has(name.slice(0, Math.max(0, name.indexOf('/'))));
  const couldFit = (pod: PodInfo, node: NodeInfo): boolean => rejectionOf(pod, node, ignores) === undefined;
  const couldMakeRoom = (pod: PodInfo, node: NodeInfo): boolean =>
    couldFit(pod, node) || (hasLessImportant(node, pod) && rejectionOf(pod, emptied(node), ignores) === undefined);
  const hasRoom = (pod: PodInfo, node: NodeInfo, nominated: readonly PodInfo[]): boolean =>
    couldFit(pod, node) && rejectionOf(pod, withPods(node, nominatedBefore(nominated, pod)), ignores) === undefined;
  return {
    localFilter: true,
    preFilter: ({ pod }) => checking((node) => rejectionOf(pod, node, ignores)),
    localScore: true,
    preScore: ({ pod }) => ({ score: nodeScorer(args, pod) }),
    wakesOn: {
      'node-added': couldMakeRoom,
      'node-allocatable': couldMakeRoom,
      'pod-removed': (pod, { nodeName }) => {
        const node = cluster.node(nodeName);
        if (node === undefined) return true;
        if (hasRoom(pod, node, cluster.nominatedOn(nodeName))) return true;
        const promised = cluster.nominationOf(pod);
        if (promised === '') return hasLessImportant(node, pod);
        // A nominated pod waits until no preempted pod is terminating on its node.
        return promised === nodeName && !isBeingCleared(node, pod);
      },
      'pod-smaller': (pod, smaller) => [...pod.requests.keys()].some((name) => smaller.requests.has(name)),
    },
  };
}

/** True when the node has pods of lower priority, which may be preempted. */
function hasLessImportant({ pods }: NodeInfo, { priority }: PodInfo): boolean {
  for (const placed of pods.values()) if (placed.priority < priority) return true;
  return false;
}

/** The input of the check. */
interface Room extends Pick<NodeInfo, 'allocatable' | 'podsAllowed' | 'requested'> {
  readonly pods: { readonly size: number };
}

const emptied = ({ allocatable, podsAllowed }: NodeInfo): Room => ({
  allocatable,
  podsAllowed,
  requested: new Map(),
  pods: { size: 0 },
});

const nominatedBefore = (nominated: readonly PodInfo[], pod: PodInfo): readonly PodInfo[] =>
  nominated.filter((other) => other.uid !== pod.uid && other.priority >= pod.priority);

function withPods(node: NodeInfo, pods: readonly PodInfo[]): Room {
  if (pods.length === 0) return node;
  const requested = new Map(node.requested);
  for (const { requests } of pods) addTo(requested, requests);
  const { allocatable, podsAllowed } = node;
  return { allocatable, podsAllowed, requested, pods: { size: node.pods.size + pods.length } };
}

function rejectionOf(pod: PodInfo, node: Room, ignores: Ignores): Rejection | undefined {
  let reasons: string[] | undefined;
  if (node.pods.size + 1 > node.podsAllowed) reasons = ['Too many pods'];
  for (const [name, wanted] of pod.requests) {
    if (wanted <= 0 || wanted <= (node.allocatable.get(name) ?? 0) - (node.requested.get(name) ?? 0)) continue;
    if (!ignores(name)) (reasons ??= []).push(`Insufficient ${name}`);
  }
  return reasons === undefined ? undefined : insufficient(reasons);
}

/** Full nodes share one list of reasons. */
const SAID = new Map<string, Rejection>();

function insufficient(reasons: readonly string[]): Rejection {
  const text = reasons.join('\n');
  const known = SAID.get(text) ?? rejected(...reasons);
  if (SAID.size < REJECTIONS_SHARED_MAX) SAID.set(text, known);
  return known;
}
