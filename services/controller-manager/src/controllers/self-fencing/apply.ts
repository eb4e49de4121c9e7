import {
  isCovered,
  LEASES,
  type Lease,
  NODE_LEASES_NAMESPACE,
  NODES,
  type Node,
  PODS,
  type Pod,
  promiseOf,
  SELF_FENCED,
  SELF_FENCED_REASONS,
  SELF_FENCING_BROKEN,
  type SelfFencingPolicy,
} from '@holdfast/api';
import { formatTime } from '@holdfast/platform';
import type { ControllerContext } from '../../common/context.ts';
import { isTerminating, keyOf, nameOf, targetOf, uidOf } from '../../common/meta.ts';
import { withPodCondition } from '../../common/pods.ts';
import { inParallel, unlessChanged } from '../../common/writes.ts';

export const leaseOf = (context: ControllerContext, name: string): Lease | undefined =>
  context.informers.of(LEASES).get({ namespace: NODE_LEASES_NAMESPACE, name });

/** Against the revision that was waited out: a renewal that was committed meanwhile wins. */
export async function breakPromise({ client, clock, log }: ControllerContext, lease: Lease): Promise<void> {
  const annotations = { ...lease.metadata.annotations, [SELF_FENCING_BROKEN]: formatTime(clock.now()) };
  const broken = { ...lease, metadata: { ...lease.metadata, annotations } };
  if ((await unlessChanged(() => client.update(LEASES, broken))) === undefined) return;
  log.warn('a node has not renewed its promise: the pods that it covers have ended', { node: nameOf(lease) });
}

/**
 * Applies the state of a lease, repeatedly if needed: updates the Node's condition, and requests the deletion of the
 * exclusive pods of a broken promise.
 */
export async function follow(context: ControllerContext, name: string): Promise<void> {
  const node = context.informers.of(NODES).get({ name });
  const promise = promiseOf(leaseOf(context, name));
  if (node === undefined) return;
  await tellNode(context, node, promise?.isBroken === true ? promise.policy : undefined);
  if (promise?.isBroken !== true) return;
  const pods = context.informers.of(PODS).byIndex('node', name);
  const leaving = pods.filter((pod) => isCovered(promise.policy, pod) && !isTerminating(pod));
  const failure = await inParallel(leaving, (pod) => evict(context, pod, name));
  if (failure !== undefined) throw failure;
}

/** `released`: what a broken promise covered; undefined: the promise holds, or there is none. */
async function tellNode(
  { client, clock, events }: ControllerContext,
  node: Node,
  released: SelfFencingPolicy | undefined,
): Promise<void> {
  const conditions = node.status.conditions ?? [];
  const old = conditions.find(({ type }) => type === SELF_FENCED);
  const isBroken = released !== undefined;
  const status = isBroken ? 'True' : 'False';
  const isSaid = old?.status === status && (!isBroken || old.reason === SELF_FENCED_REASONS[released]);
  if (isSaid || (old === undefined && !isBroken)) return;
  const now = formatTime(clock.now());
  const since = old?.status === status ? (old.lastTransitionTime ?? now) : now;
  const text = isBroken ? { reason: SELF_FENCED_REASONS[released], message: WAITED_OUT } : RENEWED;
  const next = { type: SELF_FENCED, status, ...text, lastHeartbeatTime: now, lastTransitionTime: since };
  const others = conditions.filter(({ type }) => type !== SELF_FENCED);
  const told = { ...node, status: { ...node.status, conditions: [...others, next] } };
  if ((await unlessChanged(() => client.updateStatus(NODES, told))) === undefined) return;
  events.event(node, { type: isBroken ? 'Warning' : 'Normal', ...text });
}

const WAITED_OUT =
  'the node did not renew its promise: its watchdog has ended the pods that it covers, they may run elsewhere';
const RENEWED = {
  reason: 'PromiseRenewed',
  message: 'the node promises again, after the pods that its promise covers were confirmed dead',
} as const;

/** Asks for a graceful end. Nobody on the node can confirm it; the pod garbage collector does, by the broken promise. */
async function evict({ client, clock, events }: ControllerContext, pod: Pod, node: string): Promise<void> {
  const marked = await unlessChanged(() => client.updateStatus(PODS, markLost(pod, node, clock.now())));
  if (marked === undefined) return;
  const message = `Marking for deletion Pod ${keyOf(pod)}: its node was lost, and the node's watchdog has ended it`;
  events.event(pod, { type: 'Normal', reason: 'SelfFencingEviction', message });
  await unlessChanged(() => client.delete(PODS, targetOf(pod), { uid: uidOf(pod) }));
}

function markLost(pod: Pod, node: string, now: number): Pod {
  const why = { reason: 'DeletionBySelfFencing', message: `Node ${node} did not renew its promise` };
  const target = withPodCondition(pod, { type: 'DisruptionTarget', status: 'True', ...why }, now);
  const message = `Node ${node} sends no heartbeats; its watchdog has ended the pod`;
  return withPodCondition(target, { type: 'NodeDown', status: 'True', reason: 'NodePartitioned', message }, now);
}
