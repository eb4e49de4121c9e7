import {
  CONTROLLER_REVISIONS,
  type ControllerRevision,
  type KubeObject,
  PERSISTENT_VOLUME_CLAIMS,
  type PersistentVolumeClaim,
  PODS,
  type Pod,
  type ResourceRef,
  STATEFUL_SETS,
  type StatefulSet,
  type StatefulSetStatus,
} from '@holdfast/api';
import { describeError } from '@holdfast/platform';
import type { CacheBarrier } from '../../common/cache-barrier.ts';
import type { ControllerContext } from '../../common/context.ts';
import { isSame } from '../../common/hash.ts';
import { mayAdopt, unlessSpecChanged } from '../../common/live-check.ts';
import {
  controllerReference,
  isControlledBy,
  keyOf,
  nameOf,
  targetOf,
  uidOf,
  withOwner,
  withoutOwners,
} from '../../common/meta.ts';
import { inParallel, isAlreadyExists, isNamespaceTerminating, slowStart, unlessChanged } from '../../common/writes.ts';
import type { StatefulSetAction } from './decide.ts';

export interface ApplyTools {
  readonly context: ControllerContext;
  readonly barrier: CacheBarrier;
  readonly set: StatefulSet;
}

type Of<K extends StatefulSetAction['type']> = Extract<StatefulSetAction, { type: K }>;

/** Resolves to the first failure; the writes that did not depend on it are made all the same. */
export async function apply(tools: ApplyTools, actions: readonly StatefulSetAction[]): Promise<Error | undefined> {
  const creates = actions.filter((action): action is Of<'create-pod'> => action.type === 'create-pod');
  const deletes = actions.filter((action): action is Of<'delete-pod'> => action.type === 'delete-pod');
  const claims = actions.filter((action): action is Of<'create-claims'> => action.type === 'create-claims');
  const apart = new Set<StatefulSetAction>([...creates, ...deletes, ...claims]);
  const others = actions.filter((action) => !apart.has(action));
  const otherError = await inParallel(others, (action) => perform(tools, action));
  if (otherError !== undefined) return otherError;
  const claimError = await inParallel(claims, (action) => createClaims(tools, action));
  const createError = await slowStart(creates, (action) => create(tools, action));
  const observed = { resource: STATEFUL_SETS, object: tools.set };
  const deletable = await unlessSpecChanged(tools.context, observed, deletes);
  const deleteError = await inParallel(deletable, (action) => remove(tools, action));
  return claimError ?? createError ?? deleteError;
}

async function perform(tools: ApplyTools, action: StatefulSetAction): Promise<void> {
  const { client } = tools.context;
  switch (action.type) {
    case 'adopt-pod':
      await adopt(tools, PODS, action.pod);
      return;
    case 'adopt-revision':
      await adopt(tools, CONTROLLER_REVISIONS, action.revision);
      return;
    case 'release-pod':
      await unlessChanged(() => client.update(PODS, withoutOwners(action.pod, new Set([uidOf(tools.set)]))));
      return;
    case 'relabel-pod':
      await unlessChanged(() => client.update(PODS, action.pod));
      return;
    case 'update-claim':
      await unlessChanged(() => client.update(PERSISTENT_VOLUME_CLAIMS, action.claim));
      return;
    case 'store-revision':
      await storeRevision(tools, action.revision);
      return;
    case 'delete-revision':
      await unlessChanged(() =>
        client.delete(CONTROLLER_REVISIONS, targetOf(action.revision), { uid: uidOf(action.revision) }),
      );
      return;
    case 'create-claims':
      return createClaims(tools, action);
    case 'create-pod':
      return create(tools, action);
    case 'delete-pod':
      return remove(tools, action);
  }
}

/** A name is derived from the template: it is taken by this set's own revision (seen late), or two templates collide. */
async function storeRevision({ context, set }: ApplyTools, revision: ControllerRevision): Promise<void> {
  const { client } = context;
  if (revision.metadata.uid !== undefined) {
    await unlessChanged(() => client.update(CONTROLLER_REVISIONS, revision));
    return;
  }
  try {
    await client.create(CONTROLLER_REVISIONS, revision);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    const holder = await client.find(CONTROLLER_REVISIONS, targetOf(revision));
    const isOurs = holder !== undefined && isControlledBy(holder, uidOf(set)) && isSame(holder.data, revision.data);
    if (isOurs) return;
    const status = { ...set.status, collisionCount: (set.status.collisionCount ?? 0) + 1 };
    await unlessChanged(() => client.updateStatus(STATEFUL_SETS, { ...set, status }));
  }
}

async function adopt<T extends KubeObject>(
  { context, set }: ApplyTools,
  resource: ResourceRef<T>,
  object: T,
): Promise<void> {
  if (!(await mayAdopt(context, { resource: STATEFUL_SETS, object: set }))) return;
  const owner = controllerReference(set, { apiVersion: 'apps/v1', kind: 'StatefulSet' });
  await unlessChanged(() => context.client.update(resource, withOwner(object, owner)));
}

/** Create-if-absent on the name is the lock: its holder keeps it, whether alive, terminating or lost with its node. */
async function create(tools: ApplyTools, { pod, claims }: Of<'create-pod'>): Promise<void> {
  const { context, set, barrier } = tools;
  try {
    for (const claim of claims) await createClaim(tools, claim, pod);
    barrier.wrote(keyOf(set), await context.client.create(PODS, pod));
    tell(tools, 'Normal', 'SuccessfulCreate', `create Pod ${nameOf(pod)} in StatefulSet ${nameOf(set)} successful`);
  } catch (error) {
    if (isNamespaceTerminating(error)) return;
    const message = `create Pod ${nameOf(pod)} in StatefulSet ${nameOf(set)} failed error: ${describeError(error)}`;
    if (!isAlreadyExists(error)) tell(tools, 'Warning', 'FailedCreate', message);
    throw error;
  }
}

async function createClaims(tools: ApplyTools, { pod, claims }: Of<'create-claims'>): Promise<void> {
  for (const claim of claims) {
    try {
      await createClaim(tools, claim, pod);
    } catch (error) {
      if (isNamespaceTerminating(error)) return;
      const what = `create Claim ${nameOf(claim)} Pod ${nameOf(pod)} in StatefulSet ${nameOf(tools.set)}`;
      tell(tools, 'Warning', 'FailedCreate', `${what} failed error: ${describeError(error)}`);
      throw error;
    }
  }
}

async function createClaim(tools: ApplyTools, claim: PersistentVolumeClaim, pod: Pod): Promise<void> {
  const { client } = tools.context;
  if ((await client.find(PERSISTENT_VOLUME_CLAIMS, targetOf(claim))) !== undefined) return;
  try {
    await client.create(PERSISTENT_VOLUME_CLAIMS, claim);
    const message = `create Claim ${nameOf(claim)} Pod ${nameOf(pod)} in StatefulSet ${nameOf(tools.set)} success`;
    tell(tools, 'Normal', 'SuccessfulCreate', message);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}

/** Graceful always: the name stays taken until the kubelet has confirmed the end. */
async function remove(tools: ApplyTools, { pod, why }: Of<'delete-pod'>): Promise<void> {
  const { context, set } = tools;
  if (why === 'failed') {
    tell(tools, 'Warning', 'RecreatingFailedPod', `StatefulSet ${keyOf(set)} is recreating failed Pod ${nameOf(pod)}`);
  }
  await unlessChanged(() => context.client.delete(PODS, targetOf(pod), { uid: uidOf(pod) }));
  tell(tools, 'Normal', 'SuccessfulDelete', `delete Pod ${nameOf(pod)} in StatefulSet ${nameOf(set)} successful`);
}

function tell({ context, set }: ApplyTools, ...[type, reason, message]: ['Normal' | 'Warning', string, string]): void {
  context.events.event(set, { type, reason, message });
}

export async function writeStatus({ context, set }: ApplyTools, status: StatefulSetStatus): Promise<void> {
  await unlessChanged(() => context.client.updateStatus(STATEFUL_SETS, { ...set, status }));
}
