import { PODS, REPLICA_SETS, type ReplicaSet } from '@holdfast/api';
import type { ReconcileResult } from '@holdfast/client';
import { CacheBarrier } from '../../common/cache-barrier.ts';
import type { ControllerContext, ControllerDefinition, Loop } from '../../common/context.ts';
import { controllerOf, keyOf, parseKey, uidOf } from '../../common/meta.ts';
import { isActive, nextAvailabilityMs } from '../../common/pods.ts';
import { ownersToWake } from '../../common/wake.ts';
import { CACHE_BARRIER_RECHECK_MS, WORKERS_PER_CONTROLLER } from '../../limits.ts';
import { applyPods, ForeignNames, writeStatus } from './apply.ts';
import { claimedPods, decidePods, type ReplicaSetSnapshot } from './decide.ts';
import { decideStatus } from './status.ts';

export const replicaSetController: ControllerDefinition = {
  name: 'replicaset',
  component: 'replicaset-controller',
  identity: 'manager',
  watches: [REPLICA_SETS, PODS],
  create: (context) => [createLoop(context)],
};

function createLoop(context: ControllerContext): Loop {
  const replicaSets = context.informers.of(REPLICA_SETS);
  const pods = context.informers.of(PODS);
  const memory = { barrier: new CacheBarrier(), foreign: new ForeignNames() };
  return {
    name: 'replicaset',
    workers: WORKERS_PER_CONTROLLER,
    initialKeys: () => replicaSets.list().map(keyOf),
    wake: (enqueue) => [
      replicaSets.onChange(({ key }) => enqueue(key)),
      pods.onChange((change) => ownersToWake(replicaSets, 'ReplicaSet', change).forEach(enqueue)),
    ],
    reconcile: async (key) => {
      const snapshot = observe(context, memory, key);
      if (snapshot !== undefined) return pass(context, memory, snapshot);
      memory.barrier.forget(key);
      memory.foreign.forget(key);
      return {};
    },
  };
}

interface Memory {
  readonly barrier: CacheBarrier;
  readonly foreign: ForeignNames;
}

function observe(context: ControllerContext, memory: Memory, key: string): ReplicaSetSnapshot | undefined {
  const replicaSet = context.informers.of(REPLICA_SETS).get(parseKey(key));
  if (replicaSet === undefined) return undefined;
  const pods = context.informers.of(PODS);
  return {
    replicaSet,
    pods: [
      ...pods.byIndex('controller', uidOf(replicaSet)),
      ...pods.byIndex('orphan', replicaSet.metadata.namespace ?? ''),
    ],
    caughtUp: memory.barrier.isCaughtUp(key, pods, context.clock.monotonic()),
    unansweredDeletes: memory.barrier.unanswered(key),
    foreignNames: memory.foreign.of(key),
    relatedPodsPerNode: () => relatedPodsPerNode(context, replicaSet),
  };
}

/** A set under a Deployment ranks its pods by all pods of that Deployment on the same node. */
function relatedPodsPerNode(context: ControllerContext, replicaSet: ReplicaSet): ReadonlyMap<string, number> {
  const controller = controllerOf(replicaSet);
  const siblings =
    controller === undefined ? [replicaSet] : context.informers.of(REPLICA_SETS).byIndex('controller', controller.uid);
  const counts = new Map<string, number>();
  for (const sibling of siblings) {
    for (const pod of context.informers.of(PODS).byIndex('controller', uidOf(sibling))) {
      const node = pod.spec.nodeName ?? '';
      if (isActive(pod)) counts.set(node, (counts.get(node) ?? 0) + 1);
    }
  }
  return counts;
}

async function pass(
  context: ControllerContext,
  memory: Memory,
  snapshot: ReplicaSetSnapshot,
): Promise<ReconcileResult> {
  const now = context.clock.now();
  const { replicaSet } = snapshot;
  const outcome = await applyPods({ context, ...memory }, replicaSet, decidePods(snapshot, now));
  const claimed = claimedPods(snapshot);
  // A picture known to be old is not worth telling: it would fight with the manager that sees the present one.
  const status = snapshot.caughtUp ? decideStatus({ replicaSet, claimed, failure: outcome.failure }, now) : undefined;
  if (status !== undefined) await writeStatus(context, replicaSet, status);
  if (outcome.error !== undefined) throw outcome.error;
  const wait = snapshot.caughtUp
    ? nextAvailabilityMs(claimed, replicaSet.spec.minReadySeconds ?? 0, now)
    : CACHE_BARRIER_RECHECK_MS;
  return wait === undefined ? {} : { requeueAfterMs: wait };
}
