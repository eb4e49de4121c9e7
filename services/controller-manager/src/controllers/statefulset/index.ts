import { CONTROLLER_REVISIONS, PODS, type ResourceRef, STATEFUL_SETS } from '@holdfast/api';
import type { ReconcileResult } from '@holdfast/client';
import { CacheBarrier } from '../../common/cache-barrier.ts';
import type { ControllerContext, ControllerDefinition, Loop } from '../../common/context.ts';
import { keyOf, parseKey, uidOf } from '../../common/meta.ts';
import { nextAvailabilityMs } from '../../common/pods.ts';
import { ownersToWake } from '../../common/wake.ts';
import { CACHE_BARRIER_RECHECK_MS, WORKERS_PER_CONTROLLER } from '../../limits.ts';
import { apply, writeStatus } from './apply.ts';
import { claimPods, decide, type StatefulSetSnapshot } from './decide.ts';
import { revisionsOf } from './revisions.ts';
import { decideStatus } from './status.ts';

/** `resources` tells whether old templates can be kept as ControllerRevisions. */
export function statefulSetController({
  resources,
}: {
  readonly resources: readonly ResourceRef[];
}): ControllerDefinition {
  const keepsRevisions = resources.some(
    ({ group, plural }) => group === CONTROLLER_REVISIONS.group && plural === CONTROLLER_REVISIONS.plural,
  );
  return {
    name: 'statefulset',
    component: 'statefulset-controller',
    identity: 'manager',
    watches: [STATEFUL_SETS, PODS, ...(keepsRevisions ? [CONTROLLER_REVISIONS] : [])],
    create: (context) => [createLoop(context, keepsRevisions)],
  };
}

function createLoop(context: ControllerContext, keepsRevisions: boolean): Loop {
  const { informers } = context;
  const barrier = new CacheBarrier();
  return {
    name: 'statefulset',
    workers: WORKERS_PER_CONTROLLER,
    initialKeys: () => informers.of(STATEFUL_SETS).list().map(keyOf),
    wake: (enqueue) => [
      informers.of(STATEFUL_SETS).onChange(({ key }) => enqueue(key)),
      informers
        .of(PODS)
        .onChange((change) => ownersToWake(informers.of(STATEFUL_SETS), 'StatefulSet', change).forEach(enqueue)),
      ...(keepsRevisions
        ? [
            informers
              .of(CONTROLLER_REVISIONS)
              .onChange((change) => ownersToWake(informers.of(STATEFUL_SETS), 'StatefulSet', change).forEach(enqueue)),
          ]
        : []),
    ],
    reconcile: async (key) => {
      const set = informers.of(STATEFUL_SETS).get(parseKey(key));
      if (set === undefined) {
        barrier.forget(key);
        return {};
      }
      const pods = informers.of(PODS);
      return pass(context, barrier, {
        set,
        pods: [...pods.byIndex('controller', uidOf(set)), ...pods.byIndex('orphan', set.metadata.namespace ?? '')],
        revisions: keepsRevisions ? informers.of(CONTROLLER_REVISIONS).byIndex('controller', uidOf(set)) : undefined,
        caughtUp: barrier.isCaughtUp(key, pods, context.clock.monotonic()),
      });
    },
  };
}

async function pass(
  context: ControllerContext,
  barrier: CacheBarrier,
  snapshot: StatefulSetSnapshot,
): Promise<ReconcileResult> {
  const { set } = snapshot;
  const now = context.clock.now();
  const tools = { context, barrier, set };
  const failure = await apply(tools, decide(snapshot, now));
  const { owned } = claimPods(snapshot);
  const status = snapshot.caughtUp ? decideStatus(set, owned, revisionsOf(set, snapshot.revisions), now) : undefined;
  if (status !== undefined) await writeStatus(tools, status);
  if (failure !== undefined) throw failure;
  const waitMs = snapshot.caughtUp
    ? nextAvailabilityMs(owned, set.spec.minReadySeconds ?? 0, now)
    : CACHE_BARRIER_RECHECK_MS;
  return waitMs === undefined ? {} : { requeueAfterMs: waitMs };
}
