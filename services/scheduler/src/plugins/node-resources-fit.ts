import type { NodeInfo } from '../domain/node-info.ts';
import type { PodInfo } from '../domain/pod-info.ts';
import { nodeScorer } from '../domain/resource-scores.ts';
import type { PluginDefinition } from '../framework/definition.ts';
import { checking, type Plugin, type Rejection, rejected } from '../framework/plugin.ts';
import { decodeNodeResourcesFitArgs, type NodeResourcesFitArgs } from './args/node-resources-args.ts';

/** What the pod requests must be free on the node; among those, the emptiest (or the fullest) is liked best. */
export const NODE_RESOURCES_FIT: PluginDefinition = {
  name: 'NodeResourcesFit',
  points: ['preFilter', 'filter', 'preScore', 'score'],
  weight: 1,
  configure: (raw) => {
    const args = decodeNodeResourcesFitArgs(raw);
    return ({ ignoredResources }) => createNodeResourcesFit(args, ignoredResources);
  },
};

/** Whether a resource is nobody's business here. */
type Ignores = (name: string) => boolean;

function createNodeResourcesFit(args: NodeResourcesFitArgs, managedElsewhere: ReadonlySet<string>): Plugin {
  const ignored = new Set([...args.ignoredResources, ...managedElsewhere]);
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
      // Also its place in the number of pods is free.
      'pod-removed': true,
      'pod-smaller': (pod, smaller) => [...pod.requests.keys()].some((name) => smaller.requests.has(name)),
    },
  };
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
