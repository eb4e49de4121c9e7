import assert from 'node:assert/strict';
import type { Node, Pod, TopologySpreadConstraint } from '@holdfast/api';
import { createPodInfo } from '../domain/pod-info.ts';
import { POD_TOPOLOGY_SPREAD } from '../plugins/pod-topology-spread.ts';
import { buildNode, buildPod } from './builders.ts';
import { clusterOf, pluginOf } from './cluster.ts';

export const HARD = 'DoNotSchedule';
export const SOFT = 'ScheduleAnyway';
export const spreadPlugin = pluginOf(POD_TOPOLOGY_SPREAD);

export const zoneNode = (name: string, zone: string): Node => buildNode(name, { labels: { zone, node: name } });
export const matching = (name: string, nodeName: string): Pod => buildPod(name, { nodeName, labels: { foo: 'bar' } });

export function constraint(topologyKey: string, whenUnsatisfiable = HARD, maxSkew = 1): TopologySpreadConstraint {
  return { topologyKey, whenUnsatisfiable, maxSkew, labelSelector: { matchLabels: { foo: 'bar' } } };
}

export const incoming = (
  constraints: TopologySpreadConstraint[],
  labels: Record<string, string> = { foo: 'bar' },
): Pod => buildPod('mypod', { labels, spec: { topologySpreadConstraints: constraints } });

export interface Cluster {
  readonly nodes: readonly Node[];
  readonly pods: readonly Pod[];
}

/** Two zones of two nodes, three matching pods. */
export const FOUR: Cluster = {
  nodes: [
    zoneNode('node1', 'zoneA'),
    zoneNode('node2', 'zoneA'),
    zoneNode('node3', 'zoneB'),
    zoneNode('node4', 'zoneB'),
  ],
  pods: [matching('p1', 'node1'), matching('p2', 'node2'), matching('p3', 'node3')],
};

/** Names of the nodes that the filter lets pass. */
export function passing({ nodes, pods }: Cluster, pod: Pod): readonly string[] {
  const snapshot = clusterOf(nodes, pods);
  const prepared = spreadPlugin.preFilter?.({ pod: createPodInfo(pod), snapshot });
  assert.ok(prepared?.kind === 'check');
  return snapshot.nodes.filter((each) => prepared.check(each) === undefined).map(({ name }) => name);
}

/** Scores by the plugin alone; of all nodes unless only some are feasible. */
export function scores(
  { nodes, pods }: Cluster,
  pod: Pod,
  feasible: readonly string[] = nodes.map(({ metadata }) => metadata.name ?? ''),
): { readonly raw: number[]; readonly normalized: number[] } {
  const snapshot = clusterOf(nodes, pods);
  const among = snapshot.nodes.filter(({ name }) => feasible.includes(name));
  const scorer = spreadPlugin.preScore?.({ pod: createPodInfo(pod), snapshot }, among);
  assert.ok(scorer !== undefined);
  const raw = among.map((each) => scorer.score(each));
  const normalized = [...raw];
  scorer.normalize?.(normalized, among);
  return { raw, normalized };
}
