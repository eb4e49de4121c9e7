import {
  CONTROLLER_REVISIONS,
  isPodFinished,
  type KubeObject,
  PERSISTENT_VOLUME_CLAIMS,
  PODS,
  type Pod,
  type ResourceRef,
  STATEFUL_SETS,
  type StatefulSet,
} from '@holdfast/api';
import type { Informer, InformerChange, ReconcileResult } from '@holdfast/client';
import { CacheBarrier } from '../../common/cache-barrier.ts';
import type { ControllerContext, ControllerDefinition, Loop } from '../../common/context.ts';
import {
  controllerOf,
  isTerminating,
  keyOf,
  nameOf,
  namespaceOf,
  parseKey,
  toTarget,
  uidOf,
} from '../../common/meta.ts';
import { Pacing } from '../../common/pacing.ts';
import { nextAvailabilityMs, restMs } from '../../common/pods.ts';
import { ownersToWake } from '../../common/wake.ts';
import { CACHE_BARRIER_RECHECK_MS, WORKERS_PER_CONTROLLER } from '../../limits.ts';
import { apply, writeStatus } from './apply.ts';
import { claimPods, decide, type StatefulSetSnapshot } from './decide.ts';
import { claimNames } from './identity.ts';
import { revisionsOf } from './revisions.ts';
import { decideStatus } from './status.ts';

/** `resources` tells whether the API serves ControllerRevisions, for old templates, and claims. */
export function statefulSetController({
  resources,
}: {
  readonly resources: readonly ResourceRef[];
}): ControllerDefinition {
  const isServed = (kind: ResourceRef): boolean =>
    resources.some(({ group, plural }) => group === kind.group && plural === kind.plural);
  const served = {
    revisions: isServed(CONTROLLER_REVISIONS),
    claims: isServed(PERSISTENT_VOLUME_CLAIMS),
  };
  return {
    name: 'statefulset',
    component: 'statefulset-controller',
    identity: 'manager',
    watches: [
      STATEFUL_SETS,
      PODS,
      ...(served.revisions ? [CONTROLLER_REVISIONS] : []),
      ...(served.claims ? [PERSISTENT_VOLUME_CLAIMS] : []),
    ],
    create: (context) => [createLoop(context, served)],
  };
}

interface ServedKinds {
  readonly revisions: boolean;
  readonly claims: boolean;
}

function createLoop(context: ControllerContext, served: ServedKinds): Loop {
  const sets = context.informers.of(STATEFUL_SETS);
  const pods = context.informers.of(PODS);
  const memory = { barrier: new CacheBarrier(), pacing: new Pacing(context.clock) };
  return {
    name: 'statefulset',
    workers: WORKERS_PER_CONTROLLER,
    initialKeys: () => sets.list().map(keyOf),
    wake: (enqueue) => [
      sets.onChange((change) => {
        memory.pacing.ownerChanged(change);
        enqueue(change.key);
      }),
      pods.onChange((change) => {
        ownersToWake(sets, 'StatefulSet', change).forEach(enqueue);
        const freed = setOfFreedName(change);
        if (freed !== undefined && sets.get(freed) !== undefined) enqueue(keyOf({ metadata: freed }));
      }),
      ...wakeOfDependents(context, served, enqueue),
    ],
    reconcile: async (key) => {
      const waitMs = memory.pacing.waitMs(key);
      if (waitMs !== undefined) return { requeueAfterMs: waitMs };
      const set = sets.get(parseKey(key));
      if (set !== undefined) return pass(context, memory, observe(context, memory.barrier, { set, served }));
      memory.barrier.forget(key);
      memory.pacing.forget(key);
      return {};
    },
  };
}

/**
 * The set that may wait for the name of a pod that is gone, whoever had it: a pod that a user has relabelled has no
 * owner, and its labels lead to nobody.
 */
function setOfFreedName({ object, old }: InformerChange<Pod>): ReturnType<typeof toTarget> | undefined {
  if (object !== undefined || old === undefined) return undefined;
  const name = nameOf(old);
  const setName = name.replace(/-\d+$/, '');
  return setName === name ? undefined : toTarget(namespaceOf(old), setName);
}

function wakeOfDependents(
  { informers }: ControllerContext,
  served: ServedKinds,
  enqueue: (key: string) => void,
): readonly (() => void)[] {
  const sets = informers.of(STATEFUL_SETS);
  const revisions = served.revisions
    ? [
        informers
          .of(CONTROLLER_REVISIONS)
          .onChange((change) => ownersToWake(sets, 'StatefulSet', change).forEach(enqueue)),
      ]
    : [];
  const claims = served.claims
    ? [
        informers.of(PERSISTENT_VOLUME_CLAIMS).onChange((change) => {
          setsOfClaim(change).forEach(enqueue);
          if (change.object === undefined && change.old !== undefined) setsNaming(sets, change.old).forEach(enqueue);
        }),
      ]
    : [];
  return [...revisions, ...claims];
}

/** The sets that may wait for a claim to go or to change: its owner, or the one that its owner, a pod, belongs to. */
function setsOfClaim({ object, old }: InformerChange<KubeObject>): readonly string[] {
  return [object, old].flatMap((claim) => {
    const owner = claim === undefined ? undefined : controllerOf(claim);
    if (claim === undefined || owner === undefined) return [];
    const name = owner.kind === 'Pod' ? owner.name.replace(/-\d+$/, '') : owner.name;
    return owner.kind === 'Pod' || owner.kind === 'StatefulSet'
      ? [keyOf({ metadata: toTarget(claim.metadata.namespace ?? '', name) })]
      : [];
  });
}

/** The sets that have a claim of this name, `<template>-<set>-<ordinal>`: claims that are kept have no owner. */
function setsNaming(sets: Informer<StatefulSet>, claim: KubeObject): readonly string[] {
  const name = nameOf(claim);
  const found: string[] = [];
  // Any part may have dashes.
  for (let at = name.indexOf('-'); at >= 0; at = name.indexOf('-', at + 1)) {
    const podName = name.slice(at + 1);
    const set = sets.get(toTarget(namespaceOf(claim), podName.replace(/-\d+$/, '')));
    if (set !== undefined && claimNames(set, podName).includes(name)) found.push(keyOf(set));
  }
  return found;
}

function observe(
  { informers, clock }: ControllerContext,
  barrier: CacheBarrier,
  { set, served }: { readonly set: StatefulSet; readonly served: ServedKinds },
): StatefulSetSnapshot {
  const pods = informers.of(PODS);
  const namespace = set.metadata.namespace ?? '';
  return {
    set,
    pods: [...pods.byIndex('controller', uidOf(set)), ...pods.byIndex('orphan', namespace)],
    revisions: served.revisions ? informers.of(CONTROLLER_REVISIONS).byIndex('controller', uidOf(set)) : undefined,
    orphanRevisions: served.revisions ? informers.of(CONTROLLER_REVISIONS).byIndex('orphan', namespace) : [],
    claimNamed: served.claims ? (name) => informers.of(PERSISTENT_VOLUME_CLAIMS).get({ namespace, name }) : undefined,
    caughtUp: barrier.isCaughtUp(keyOf(set), pods, clock.monotonic()),
  };
}

async function pass(
  context: ControllerContext,
  { barrier, pacing }: { readonly barrier: CacheBarrier; readonly pacing: Pacing },
  snapshot: StatefulSetSnapshot,
): Promise<ReconcileResult> {
  const { set } = snapshot;
  const now = context.clock.now();
  const tools = { context, barrier, set };
  const failure = await apply(tools, decide(snapshot, now));
  const { owned } = claimPods(snapshot);
  pacing.passed(keyOf(set), owned.length);
  const status = snapshot.caughtUp ? decideStatus(set, owned, revisionsOf(set, snapshot.revisions), now) : undefined;
  if (status !== undefined) await writeStatus(tools, status);
  if (failure !== undefined) throw failure;
  if (!snapshot.caughtUp) return { requeueAfterMs: CACHE_BARRIER_RECHECK_MS };
  const resting = owned.filter((pod) => isPodFinished(pod) && !isTerminating(pod)).map((pod) => restMs(pod, now));
  const available = nextAvailabilityMs(owned, set.spec.minReadySeconds ?? 0, now);
  const unseen = barrier.lookAgainMs(keyOf(set), context.informers.of(PODS), context.clock.monotonic());
  const waits = [...unseen, ...resting.filter((ms) => ms > 0), ...(available === undefined ? [] : [available])];
  return waits.length === 0 ? {} : { requeueAfterMs: Math.min(...waits) };
}
