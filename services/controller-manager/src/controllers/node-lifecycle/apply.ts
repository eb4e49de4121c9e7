import { isNodeReady, NODES, type Node, PODS, type Pod } from '@holdfast/api';
import type { ControllerContext } from '../../common/context.ts';
import { keyOf, nameOf, targetOf } from '../../common/meta.ts';
import { unlessChanged } from '../../common/writes.ts';
import { type EvictionAction, evictingTaints, toleratedFor } from './evictions.ts';
import type { HealthAction } from './health.ts';
import type { PodEviction } from './pod-eviction.ts';

/** Resolves with false when another writer was faster: nothing is written, and the decision must be made again. */
export async function applyHealth(context: ControllerContext, action: HealthAction): Promise<boolean> {
  switch (action.type) {
    case 'write-node':
      return writeNode(context, action);
    case 'mark-pod-not-ready':
      return (await unlessChanged(() => context.client.updateStatus(PODS, action.pod))) !== undefined;
    case 'tell-not-ready': {
      const message = `Node ${nameOf(action.node)} status is now: NodeNotReady`;
      context.events.event(action.node, { type: 'Normal', reason: 'NodeNotReady', message });
      return true;
    }
  }
}

/** Conditions first: a taint without its condition would be taken away again. Both against what was observed. */
async function writeNode(
  { client }: ControllerContext,
  { node, conditions, taints }: Extract<HealthAction, { type: 'write-node' }>,
): Promise<boolean> {
  const told =
    conditions === undefined
      ? node
      : await unlessChanged(() =>
          client.updateStatus(NODES, { ...node, status: { ...node.status, conditions: [...conditions] } }),
        );
  if (told === undefined || taints === undefined) return told !== undefined;
  const tainted = { ...told, spec: { ...told.spec, taints: [...taints] } };
  return (await unlessChanged(() => client.update(NODES, tainted))) !== undefined;
}

export interface EvictionTools {
  readonly context: ControllerContext;
  readonly eviction: PodEviction;
  /** Asks the API for the node at most once per pass. */
  readonly liveNode: () => Promise<Node | undefined>;
  readonly fullDisruption: boolean;
}

export async function applyEviction(tools: EvictionTools, action: EvictionAction): Promise<void> {
  const { context } = tools;
  switch (action.type) {
    case 'evict-pod':
      await evict(tools, action);
      return;
    case 'cancel-eviction':
      tellEviction(context, action.pod, `Cancelling deletion of Pod ${keyOf(action.pod)}`);
      return;
    case 'clear-node-down':
      await unlessChanged(() => context.client.updateStatus(PODS, action.pod));
      return;
  }
}

/** Looks at the live node first: a node that has come back, unseen by a late cache, keeps its pods. */
async function evict(tools: EvictionTools, action: Extract<EvictionAction, { type: 'evict-pod' }>): Promise<void> {
  const { context, eviction, fullDisruption } = tools;
  const node = await tools.liveNode();
  if (node === undefined || !hasToLeave(action.pod, node, fullDisruption)) return;
  const marked = await unlessChanged(() => context.client.updateStatus(PODS, action.marked));
  if (marked === undefined) return;
  tellEviction(context, action.pod, `Marking for deletion Pod ${keyOf(action.pod)}`);
  await eviction.evict(marked);
}

function hasToLeave(pod: Pod, node: Node, fullDisruption: boolean): boolean {
  const cause = evictingTaints(node, fullDisruption || isNodeReady(node));
  return toleratedFor(pod, cause) !== Number.POSITIVE_INFINITY;
}

const tellEviction = (context: ControllerContext, pod: Pod, message: string): void =>
  context.events.event(pod, { type: 'Normal', reason: 'TaintManagerEviction', message });

/** A function that asks once and gives the same answer for the rest of the pass. */
export function askOnce(context: ControllerContext, node: Node): () => Promise<Node | undefined> {
  let asked: Promise<Node | undefined> | undefined;
  return () => {
    asked ??= context.client.find(NODES, targetOf(node));
    return asked;
  };
}
