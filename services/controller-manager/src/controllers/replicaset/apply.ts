import type { Pod } from '@holdfast/api';
import { describeError } from '@holdfast/platform';
import { unlessSpecChanged } from '../../common/live-check.ts';
import { adoptPods, createPod, deletePod, type OwnedPodTools, releasePods } from '../../common/owned-pods.ts';
import { inParallel, slowStart } from '../../common/writes.ts';
import type { ReplicaSetAction } from './decide.ts';
import type { PodWriteFailure } from './status.ts';

export interface ApplyOutcome {
  readonly failure: PodWriteFailure | undefined;
  /** Requeues the key with back-off. */
  readonly error: Error | undefined;
}

export async function applyPods(tools: OwnedPodTools, actions: readonly ReplicaSetAction[]): Promise<ApplyOutcome> {
  const of = <K extends ReplicaSetAction['type']>(type: K): Pod[] =>
    actions.filter((action) => action.type === type).map((action) => action.pod);
  const claimError = (await adoptPods(tools, of('adopt-pod'))) ?? (await releasePods(tools, of('release-pod')));
  const observed = { resource: tools.resource, object: tools.owner };
  const wanted = await unlessSpecChanged(tools.context, observed, of('create-pod'));
  const createError = await slowStart(wanted, (pod) => createPod(tools, pod));
  const deletable = await unlessSpecChanged(tools.context, observed, of('delete-pod'));
  const deleteError = await inParallel(deletable, (pod) => deletePod(tools, pod));
  return { failure: failureOf(createError, deleteError), error: createError ?? deleteError ?? claimError };
}

function failureOf(createError: Error | undefined, deleteError: Error | undefined): PodWriteFailure | undefined {
  if (createError !== undefined) return { reason: 'FailedCreate', message: describeError(createError) };
  if (deleteError !== undefined) return { reason: 'FailedDelete', message: describeError(deleteError) };
  return undefined;
}
