import {
  CONTROLLER_REVISIONS,
  DAEMON_SETS,
  type DaemonSet,
  isPodFinished,
  type KubeObject,
  NODES,
  type Node,
  PODS,
  type Pod,
  releasePolicy,
} from '@holdfast/api';
import type { Informer, InformerChange, ReconcileResult } from '@holdfast/client';
import { describeError } from '@holdfast/platform';
import { AvoidedNames } from '../../common/avoided-names.ts';
import { CacheBarrier } from '../../common/cache-barrier.ts';
import type { ControllerContext, ControllerDefinition, Loop } from '../../common/context.ts';
import { isSame } from '../../common/hash.ts';
import { mayAdopt, unlessSpecChanged } from '../../common/live-check.ts';
import {
  controllerReference,
  keyOf,
  nameOf,
  parseKey,
  targetOf,
  uidOf,
  withOwner,
  withoutOwners,
} from '../../common/meta.ts';
import { Pacing } from '../../common/pacing.ts';
import { nextAvailabilityMs } from '../../common/pods.ts';
import { ownersToWake } from '../../common/wake.ts';
import { inParallel, isAlreadyExists, isNamespaceTerminating, slowStart, unlessChanged } from '../../common/writes.ts';
import { CACHE_BARRIER_RECHECK_MS, FAILED_POD_REST_MS, WORKERS_PER_CONTROLLER } from '../../limits.ts';
import { claimPods, type DaemonSetAction, type DaemonSetSnapshot, daemonNodes, decide } from './decide.ts';
import { decideHistory, keepHistory } from './history.ts';
import { decideStatus } from './status.ts';

export const daemonSetController: ControllerDefinition = {
  name: 'daemonset',
  component: 'daemonset-controller',
  identity: 'manager',
  watches: [DAEMON_SETS, NODES, PODS, CONTROLLER_REVISIONS],
  create: (context) => [createLoop(context)],
};

interface Tools {
  readonly context: ControllerContext;
  readonly barrier: CacheBarrier;
  readonly pacing: Pacing;
  readonly set: DaemonSet;
}

function createLoop(context: ControllerContext): Loop {
  const sets = context.informers.of(DAEMON_SETS);
  const pods = context.informers.of(PODS);
  const nodes = context.informers.of(NODES);
  const revisions = context.informers.of(CONTROLLER_REVISIONS);
  const barrier = new CacheBarrier();
  const pacing = new Pacing(context.clock);
  const avoided = new AvoidedNames();
  const allSets = (): readonly string[] => sets.list().map(keyOf);
  return {
    name: 'daemonset',
    workers: WORKERS_PER_CONTROLLER,
    initialKeys: allSets,
    wake: (enqueue) => [
      sets.onChange((change) => {
        pacing.ownerChanged(change);
        enqueue(change.key);
      }),
      pods.onChange((change) => {
        avoided.podChanged(sets, 'DaemonSet', change);
        ownersToWake(sets, 'DaemonSet', change).forEach(enqueue);
      }),
      revisions.onChange((change) => ownersToWake(sets, 'DaemonSet', change).forEach(enqueue)),
      nodes.onChange((change) => {
        if (mattersForPlacement(change)) allSets().forEach(enqueue);
      }),
    ],
    reconcile: async (key) => {
      const waitMs = pacing.waitMs(key);
      if (waitMs !== undefined) return { requeueAfterMs: waitMs };
      const set = sets.get(parseKey(key));
      if (set === undefined) {
        for (const part of [barrier, pacing, avoided]) part.forget(key);
        return {};
      }
      const candidatesIn = <T extends KubeObject>(cache: Informer<T>): readonly T[] => [
        ...cache.byIndex('controller', uidOf(set)),
        ...cache.byIndex('orphan', set.metadata.namespace ?? ''),
      ];
      const candidates = candidatesIn(pods);
      const history = decideHistory({ set, revisions: candidatesIn(revisions), pods: candidates });
      const historyFailure = await keepHistory(context, set, history);
      const caughtUp = barrier.isCaughtUp(key, pods, context.clock.monotonic());
      const snapshot = { set, nodes: nodes.list(), pods: candidates, caughtUp, avoidedNames: avoided.of(key) };
      const result = await pass({ context, barrier, pacing, set }, snapshot);
      if (historyFailure !== undefined) throw historyFailure;
      return result;
    },
  };
}

/** A heartbeat alone moves no pod. */
function mattersForPlacement({ object, old }: InformerChange<Node>): boolean {
  if (object === undefined || old === undefined) return true;
  const said = (node: Node): unknown => [node.metadata.labels ?? {}, node.spec.taints ?? [], releasePolicy(node)];
  return !isSame(said(object), said(old));
}

async function pass(tools: Tools, snapshot: DaemonSetSnapshot): Promise<ReconcileResult> {
  const { context, pacing, set } = tools;
  const now = context.clock.now();
  const startedAt = context.clock.monotonic();
  const actions = decide(snapshot, now);
  const lookedMs = context.clock.monotonic() - startedAt;
  const failure = await apply(tools, actions);
  const { owned } = claimPods(snapshot);
  // A pass reads every node, and each node that joins triggers one.
  pacing.passed(keyOf(set), snapshot.nodes.length + owned.length, lookedMs);
  const status = snapshot.caughtUp ? decideStatus(set, daemonNodes(snapshot, owned), now) : undefined;
  if (status !== undefined) await unlessChanged(() => context.client.updateStatus(DAEMON_SETS, { ...set, status }));
  if (failure !== undefined) throw failure;
  if (!snapshot.caughtUp) return { requeueAfterMs: CACHE_BARRIER_RECHECK_MS };
  const available = nextAvailabilityMs(owned, set.spec.minReadySeconds ?? 0, now);
  const rests = owned.some(isPodFinished) ? [FAILED_POD_REST_MS] : available === undefined ? [] : [available];
  const unseen = tools.barrier.lookAgainMs(keyOf(set), context.informers.of(PODS), context.clock.monotonic());
  const waits = [...unseen, ...rests];
  return waits.length === 0 ? {} : { requeueAfterMs: Math.min(...waits) };
}

type Deletion = Extract<DaemonSetAction, { type: 'delete-pod' }>;

async function apply(tools: Tools, actions: readonly DaemonSetAction[]): Promise<Error | undefined> {
  const of = (type: DaemonSetAction['type']): Pod[] =>
    actions.filter((action) => action.type === type).map(({ pod }) => pod);
  const claimError =
    (await adopt(tools, of('adopt-pod'))) ?? (await inParallel(of('release-pod'), (pod) => release(tools, pod)));
  const createError = await slowStart(of('create-pod'), (pod) => create(tools, pod));
  const deletions = actions.filter((action): action is Deletion => action.type === 'delete-pod');
  const observed = { resource: DAEMON_SETS, object: tools.set };
  const deletable = await unlessSpecChanged(tools.context, observed, deletions);
  return claimError ?? createError ?? (await inParallel(deletable, (action) => remove(tools, action)));
}

async function adopt({ context, set }: Tools, pods: readonly Pod[]): Promise<Error | undefined> {
  if (pods.length === 0 || !(await mayAdopt(context, { resource: DAEMON_SETS, object: set }))) return undefined;
  const owner = controllerReference(set, { apiVersion: 'apps/v1', kind: 'DaemonSet' });
  return inParallel(pods, async (pod) => {
    await unlessChanged(() => context.client.update(PODS, withOwner(pod, owner)));
  });
}

async function release({ context, set }: Tools, pod: Pod): Promise<void> {
  await unlessChanged(() => context.client.update(PODS, withoutOwners(pod, new Set([uidOf(set)]))));
}

async function create({ context, barrier, set }: Tools, pod: Pod): Promise<void> {
  try {
    barrier.wrote(keyOf(set), await context.client.create(PODS, pod));
    context.events.event(set, { type: 'Normal', reason: 'SuccessfulCreate', message: `Created pod: ${nameOf(pod)}` });
  } catch (error) {
    if (isNamespaceTerminating(error)) return;
    if (!isAlreadyExists(error)) {
      const message = `Error creating: ${describeError(error)}`;
      context.events.event(set, { type: 'Warning', reason: 'FailedCreate', message });
    }
    throw error;
  }
}

/** Graceful always. */
async function remove({ context, barrier, set }: Tools, { pod, why }: Deletion): Promise<void> {
  const { client, events } = context;
  if (why === 'failed') {
    const message = `Found failed daemon pod ${keyOf(pod)} on node ${pod.spec.nodeName ?? ''}, will try to kill it`;
    events.event(set, { type: 'Warning', reason: 'FailedDaemonPod', message });
  }
  await unlessChanged(() => client.delete(PODS, targetOf(pod), { uid: uidOf(pod) }));
  barrier.deleting(keyOf(set), pod, context.clock.monotonic());
  events.event(set, { type: 'Normal', reason: 'SuccessfulDelete', message: `Deleted pod: ${nameOf(pod)}` });
}
