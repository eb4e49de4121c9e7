import { EVENTS, type Event, FENCED, NODES, type Node, type NodeCondition } from '@holdfast/api';
import { decodeConfiguration, type FencerConfiguration } from '@holdfast/fencer';
import { MemoryAgent } from '@holdfast/fencer/memory-agent';
import type { SimCluster } from './cluster.ts';
import { type World } from './world.ts';

const AGENT_TIMEOUT_SECONDS = 30;

export interface FenceRuleFile {
  readonly afterSeconds?: number;
  readonly app?: string;
}

/** One agent with one rule for the pods of one app. The command never runs: the simulator has its own agents. */
export const fencerConfiguration = (
  agent: string,
  fences: 'node' | 'storage',
  { afterSeconds = 60, app = 'db' }: FenceRuleFile,
): FencerConfiguration =>
  decodeConfiguration({
    agents: [{ name: agent, fences, timeoutSeconds: AGENT_TIMEOUT_SECONDS, exec: { command: ['none'] } }],
    rules: [{ name: app, agent, podSelector: { matchLabels: { app } }, afterSeconds }],
  });

/** Turns machines off and on. */
export const powerAgent = (cluster: SimCluster): MemoryAgent =>
  new MemoryAgent('node-poweroff', ({ action, node }) => {
    if (action === 'fence') cluster.powerOff(node.name);
    else cluster.powerOn(node.name);
  });

export const fencedOf = (node: Node | undefined): NodeCondition | undefined =>
  node?.status.conditions?.find(({ type }) => type === FENCED);

export const fencedText = (world: World, node: string): string => {
  const { status = '', reason = '' } = fencedOf(world.findNode(node)) ?? {};
  return `${status} ${reason}`.trim();
};

export const isOutOfService = (world: World, node: string): boolean =>
  (world.findNode(node)?.spec.taints ?? []).some(({ key }) => key === 'node.kubernetes.io/out-of-service');

export const annotate = (cluster: SimCluster, name: string, annotations: Record<string, string>): Promise<Node> =>
  cluster.ask(cluster.admin.patch(NODES, { name }, { type: 'merge', body: { metadata: { annotations } } }));

/** Reasons of the events about a node that speak of its fence, in the order of their last change. */
export async function fenceEvents(cluster: SimCluster, node: string): Promise<readonly string[]> {
  const { items } = await cluster.ask(cluster.admin.list(EVENTS, { namespace: 'default' }));
  const own = items.filter(
    ({ involvedObject, source }) => involvedObject.name === node && source?.component === 'fencer',
  );
  const revision = (event: Event): number => Number(event.metadata.resourceVersion);
  return own.toSorted((a, b) => revision(a) - revision(b)).map(({ reason }) => reason ?? '');
}
