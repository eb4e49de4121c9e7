import type { NodeInfo } from '../domain/node-info.ts';
import type { PodInfo } from '../domain/pod-info.ts';
import { nodeScorer } from '../domain/resource-scores.ts';
import type { PluginDefinition, PluginHandle } from '../framework/definition.ts';
import { checking, type Plugin, type Rejection, rejected } from '../framework/plugin.ts';
import { decodeNodeResourcesFitArgs, type NodeResourcesFitArgs } from './args/node-resources-args.ts';

/** What the pod requests must be free on the node; among those, the emptiest (or the fullest) is liked best. */
export const NODE_RESOURCES_FIT: PluginDefinition = {
  name: 'NodeResourcesFit',
  points: ['preFilter', 'filter', 'preScore', 'score'],
  weight: 1,
  configure: (raw) => {
    const args = decodeNodeResourcesFitArgs(raw);
    return (handle) => createNodeResourcesFit(args, handle);
  },
};

/** Whether a resource is nobody's business here. */
type Ignores = (name: string) => boolean;

function createNodeResourcesFit(args: NodeResourcesFitArgs, { cluster, ignoredResources }: PluginHandle): Plugin {
  const ignored = new Set([...args.ignoredResources, ...ignoredResources]);
  const groups = new Set(args.ignoredResourceGroups);
  const ignores: Ignores = (name) => ignored.has(name) || groups.has(name.slice(0, Math.max(0, name.indexOf('/'))));
  const couldFit = (pod: PodInfo, node: NodeInfo): boolean => rejectionOf(pod, node, ignores) === undefined;
  return {
    localFilter: true,
    preFilter: ({ pod }) => checking((node) => rejectionOf(pod, node, ignores)),
    localScore: true,
    preScore: ({ pod }) => ({ score: nodeScorer(args, pod) }),
    wakesOn: {
      'node-added': couldFit,
      'node-allocatable': couldFit,
      'pod-removed': (pod, { nodeName }) => {
        const node = cluster.node(nodeName);
        // A pod that room is being made for waits for that room, unless it is there already.
        const waits = cluster.nominationOf(pod) !== '';
        return node === undefined || couldFit(pod, node) || (!waits && hasLessImportant(node, pod));
      },
      'pod-smaller': (pod, smaller) => [...pod.requests.keys()].some((name) => smaller.requests.has(name)),
    },
  };
}

/** With more important pods gone, the others may be made to go. */
function hasLessImportant({ pods }: NodeInfo, { priority }: PodInfo): boolean {
  for (const placed of pods.values()) if (placed.priority < priority) return true;
  return false;
}

function rejectionOf(pod: PodInfo, node: NodeInfo, ignores: Ignores): Rejection | undefined {
  let reasons: string[] | undefined;
  if (node.pods.size + 1 > node.podsAllowed) reasons = ['Too many pods'];
  for (const [name, wanted] of pod.requests) {
    if (wanted <= 0 || wanted <= (node.allocatable.get(name) ?? 0) - (node.requested.get(name) ?? 0)) continue;
    if (!ignores(name)) (reasons ??= []).push(`Insufficient ${name}`);
  }
  return reasons === undefined ? undefined : rejected(...reasons);
}
