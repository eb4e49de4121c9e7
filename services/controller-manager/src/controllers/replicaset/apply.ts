import { PODS, type Pod, REPLICA_SETS, type ReplicaSet, type ReplicaSetStatus } from '@holdfast/api';
import { describeError } from '@holdfast/platform';
import type { CacheBarrier } from '../../common/cache-barrier.ts';
import type { ControllerContext } from '../../common/context.ts';
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
import {
  inParallel,
  isAlreadyExists,
  isConflict,
  isNamespaceTerminating,
  isNotFound,
  isRefusal,
  slowStart,
  unlessChanged,
} from '../../common/writes.ts';
import { FOREIGN_NAMES_PER_WORKLOAD } from '../../limits.ts';
import type { ReplicaSetAction } from './decide.ts';
import type { PodWriteFailure } from './status.ts';

export interface ApplyTools {
  readonly context: ControllerContext;
  readonly barrier: CacheBarrier;
  readonly foreign: ForeignNames;
}

export interface ApplyOutcome {
  readonly failure: PodWriteFailure | undefined;
  /** What makes the key come back with back-off. */
  readonly error: Error | undefined;
}

/** Names that a set asked for and that belong to another pod. */
export class ForeignNames {
  readonly #names = new Map<string, Set<string>>();

  of(key: string): ReadonlySet<string> {
    return this.#names.get(key) ?? new Set();
  }

  add(key: string, name: string): void {
    const names = this.#names.get(key) ?? new Set<string>();
    const [oldest] = names;
    if (names.size >= FOREIGN_NAMES_PER_WORKLOAD && oldest !== undefined) names.delete(oldest);
    names.add(name);
    this.#names.set(key, names);
  }

  forget(key: string): void {
    this.#names.delete(key);
  }
}

export async function applyPods(
  tools: ApplyTools,
  replicaSet: ReplicaSet,
  actions: readonly ReplicaSetAction[],
): Promise<ApplyOutcome> {
  const of = <K extends ReplicaSetAction['type']>(type: K): Pod[] =>
    actions.filter((action) => action.type === type).map((action) => action.pod);
  const claimError =
    (await adopt(tools, replicaSet, of('adopt-pod'))) ??
    (await inParallel(of('release-pod'), (pod) => release(tools, replicaSet, pod)));
  const createError = await slowStart(of('create-pod'), (pod) => create(tools, replicaSet, pod));
  const deletable = await unlessSpecChanged(
    tools.context,
    { resource: REPLICA_SETS, object: replicaSet },
    of('delete-pod'),
  );
  const deleteError = await inParallel(deletable, (pod) => remove(tools, replicaSet, pod));
  return { failure: failureOf(createError, deleteError), error: createError ?? deleteError ?? claimError };
}

function failureOf(createError: Error | undefined, deleteError: Error | undefined): PodWriteFailure | undefined {
  if (createError !== undefined) return { reason: 'FailedCreate', message: describeError(createError) };
  if (deleteError !== undefined) return { reason: 'FailedDelete', message: describeError(deleteError) };
  return undefined;
}

/** Looks at the live set first: a set that was deleted a moment ago must not collect pods that another one may have. */
async function adopt(tools: ApplyTools, replicaSet: ReplicaSet, pods: readonly Pod[]): Promise<Error | undefined> {
  if (pods.length === 0) return undefined;
  if (!(await mayAdopt(tools.context, { resource: REPLICA_SETS, object: replicaSet }))) return undefined;
  const owner = controllerReference(replicaSet, { apiVersion: 'apps/v1', kind: 'ReplicaSet' });
  return inParallel(pods, async (pod) => {
    const adopted = await unlessChanged(() => tools.context.client.update(PODS, withOwner(pod, owner)));
    if (adopted !== undefined) tools.barrier.wrote(keyOf(replicaSet), adopted);
  });
}

async function release(tools: ApplyTools, replicaSet: ReplicaSet, pod: Pod): Promise<void> {
  const released = await unlessChanged(() =>
    tools.context.client.update(PODS, withoutOwners(pod, new Set([uidOf(replicaSet)]))),
  );
  if (released !== undefined) tools.barrier.wrote(keyOf(replicaSet), released);
}

async function create(tools: ApplyTools, replicaSet: ReplicaSet, pod: Pod): Promise<void> {
  const { client, events } = tools.context;
  try {
    tools.barrier.wrote(keyOf(replicaSet), await client.create(PODS, pod));
    events.event(replicaSet, { type: 'Normal', reason: 'SuccessfulCreate', message: `Created pod: ${nameOf(pod)}` });
  } catch (error) {
    if (isNamespaceTerminating(error)) return;
    if (isAlreadyExists(error)) {
      await learnHolder(tools, replicaSet, pod);
      return;
    }
    const message = `Error creating: ${describeError(error)}`;
    events.event(replicaSet, { type: 'Warning', reason: 'FailedCreate', message });
    throw error;
  }
}

/** The name exists: it is either the very pod this pass wanted (somebody was faster) or a stranger's. */
async function learnHolder(tools: ApplyTools, replicaSet: ReplicaSet, wanted: Pod): Promise<void> {
  const holder = await tools.context.client.find(PODS, targetOf(wanted));
  const key = keyOf(replicaSet);
  if (holder !== undefined && isControlledBy(holder, uidOf(replicaSet))) {
    tools.barrier.wrote(key, holder);
    return;
  }
  if (holder !== undefined) tools.foreign.add(key, nameOf(holder));
  throw new Error(`the pod name ${nameOf(wanted)} was taken; the next pass looks for a free one`);
}

/** Graceful always: only the kubelet knows when the processes have ended. */
async function remove(tools: ApplyTools, replicaSet: ReplicaSet, pod: Pod): Promise<void> {
  const { client, events, clock } = tools.context;
  const key = keyOf(replicaSet);
  tools.barrier.deleting(key, pod, clock.monotonic());
  try {
    await client.delete(PODS, targetOf(pod), { uid: uidOf(pod) });
    events.event(replicaSet, { type: 'Normal', reason: 'SuccessfulDelete', message: `Deleted pod: ${nameOf(pod)}` });
  } catch (error) {
    if (isRefusal(error)) tools.barrier.deleteRefused(key, pod);
    else tools.barrier.deleteUnanswered(key, pod, clock.monotonic());
    if (isNotFound(error) || isConflict(error)) return;
    const message = `Error deleting: ${describeError(error)}`;
    events.event(replicaSet, { type: 'Warning', reason: 'FailedDelete', message });
    throw error;
  }
}

/** A conflict means that the set changed since it was observed; its event brings the next pass. */
export async function writeStatus(
  context: ControllerContext,
  replicaSet: ReplicaSet,
  status: ReplicaSetStatus,
): Promise<void> {
  await unlessChanged(() => context.client.updateStatus(REPLICA_SETS, { ...replicaSet, status }));
}
