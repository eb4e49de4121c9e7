import {
  type KubeObject,
  PODS,
  type ReplicaSet,
  type ReplicaSetStatus,
  type ResourceRef,
  selectorOf,
} from '@holdfast/api';
import type { ReconcileResult } from '@holdfast/client';
import { AvoidedNames } from '../../common/avoided-names.ts';
import { CacheBarrier } from '../../common/cache-barrier.ts';
import type { ControllerContext, Loop } from '../../common/context.ts';
import { controllerOf, keyOf, parseKey, uidOf } from '../../common/meta.ts';
import { Pacing } from '../../common/pacing.ts';
import { isActive, nextAvailabilityMs, restMs } from '../../common/pods.ts';
import { selectingOwnersToWake } from '../../common/wake.ts';
import { unlessChanged } from '../../common/writes.ts';
import { CACHE_BARRIER_RECHECK_MS, WORKERS_PER_CONTROLLER } from '../../limits.ts';
import { applyPods } from './apply.ts';
import { claimPods, decidePods, desiredReplicas, type ReplicaSetSnapshot, refusedPods } from './decide.ts';
import { decideStatus } from './status.ts';

/** A kind that keeps a number of equal pods: its differences from a ReplicaSet. */
export interface ReplicaKind<T extends KubeObject> {
  readonly name: string;
  readonly resource: ResourceRef<T>;
  /** The object in the form of a ReplicaSet; undefined while it has no template to make pods of. */
  readonly asReplicaSet: (object: T) => ReplicaSet | undefined;
  readonly withStatus: (object: T, status: ReplicaSetStatus) => T;
}

interface Memory {
  readonly barrier: CacheBarrier;
  readonly avoided: AvoidedNames;
  readonly pacing: Pacing;
}

export function createReplicaLoop<T extends KubeObject>(context: ControllerContext, kind: ReplicaKind<T>): Loop {
  const owners = context.informers.of(kind.resource);
  const pods = context.informers.of(PODS);
  const memory: Memory = {
    barrier: new CacheBarrier(),
    avoided: new AvoidedNames(),
    pacing: new Pacing(context.clock),
  };
  const selecting = {
    owners,
    kind: kind.resource.kind,
    selectorFor: (owner: T) => selectorOf(kind.asReplicaSet(owner)?.spec.selector),
  };
  return {
    name: kind.name,
    workers: WORKERS_PER_CONTROLLER,
    initialKeys: () => owners.list().map(keyOf),
    wake: (enqueue) => [
      owners.onChange((change) => {
        memory.pacing.ownerChanged(change);
        enqueue(change.key);
      }),
      pods.onChange((change) => {
        memory.avoided.podChanged(owners, selecting.kind, change);
        selectingOwnersToWake(selecting, change).forEach(enqueue);
      }),
    ],
    reconcile: async (key) => {
      const waitMs = memory.pacing.waitMs(key);
      if (waitMs !== undefined) return { requeueAfterMs: waitMs };
      const object = owners.get(parseKey(key));
      const replicaSet = object === undefined ? undefined : kind.asReplicaSet(object);
      if (object !== undefined && replicaSet !== undefined) return pass({ context, memory, kind, object, replicaSet });
      for (const part of [memory.barrier, memory.avoided, memory.pacing]) part.forget(key);
      return {};
    },
  };
}

interface Pass<T extends KubeObject> {
  readonly context: ControllerContext;
  readonly memory: Memory;
  readonly kind: ReplicaKind<T>;
  readonly object: T;
  readonly replicaSet: ReplicaSet;
}

function observe<T extends KubeObject>(of: Pass<T>): ReplicaSetSnapshot {
  const { context, memory, replicaSet } = of;
  const pods = context.informers.of(PODS);
  const key = keyOf(replicaSet);
  return {
    replicaSet,
    pods: [
      ...pods.byIndex('controller', uidOf(replicaSet)),
      ...pods.byIndex('orphan', replicaSet.metadata.namespace ?? ''),
    ],
    caughtUp: memory.barrier.isCaughtUp(key, pods, context.clock.monotonic()),
    unansweredDeletes: memory.barrier.unanswered(key),
    avoidedNames: memory.avoided.of(key),
    relatedPodsPerNode: () => relatedPodsPerNode(of),
  };
}

/** A set under a Deployment ranks its pods by all pods of that Deployment on the same node. */
function relatedPodsPerNode<T extends KubeObject>({ context, kind, replicaSet }: Pass<T>): ReadonlyMap<string, number> {
  const controller = controllerOf(replicaSet);
  const siblings: readonly KubeObject[] =
    controller === undefined ? [replicaSet] : context.informers.of(kind.resource).byIndex('controller', controller.uid);
  const counts = new Map<string, number>();
  for (const sibling of siblings) {
    for (const pod of context.informers.of(PODS).byIndex('controller', uidOf(sibling))) {
      const node = pod.spec.nodeName ?? '';
      if (isActive(pod)) counts.set(node, (counts.get(node) ?? 0) + 1);
    }
  }
  return counts;
}

async function pass<T extends KubeObject>(of: Pass<T>): Promise<ReconcileResult> {
  const { context, memory, kind, object, replicaSet } = of;
  const startedAt = context.clock.monotonic();
  const snapshot = observe(of);
  const now = context.clock.now();
  const tools = { context, ...memory, owner: object, resource: kind.resource };
  const claims = claimPods(snapshot);
  const actions = decidePods(snapshot, now, claims);
  const claimed = [...claims.owned, ...claims.adopt];
  const lookedMs = context.clock.monotonic() - startedAt;
  const outcome = await applyPods(tools, actions);
  memory.pacing.passed(keyOf(object), claimed.length, lookedMs);
  // A picture known to be old is not worth telling: it would fight with the manager that sees the present one.
  const status = snapshot.caughtUp ? decideStatus({ replicaSet, claimed, failure: outcome.failure }, now) : undefined;
  // A conflict means that the set changed since it was observed; its event brings the next pass.
  if (status !== undefined) {
    await unlessChanged(() => context.client.updateStatus(kind.resource, kind.withStatus(object, status)));
  }
  if (outcome.error !== undefined) throw outcome.error;
  if (!snapshot.caughtUp) return { requeueAfterMs: CACHE_BARRIER_RECHECK_MS };
  const available = nextAvailabilityMs(claimed, replicaSet.spec.minReadySeconds ?? 0, now);
  const rests =
    claimed.length < desiredReplicas(replicaSet) ? refusedPods(snapshot, now).map((pod) => restMs(pod, now)) : [];
  const unseen = memory.barrier.lookAgainMs(keyOf(object), context.informers.of(PODS), context.clock.monotonic());
  const waits = [...unseen, ...rests, ...(available === undefined ? [] : [available])];
  return waits.length === 0 ? {} : { requeueAfterMs: Math.min(...waits) };
}
