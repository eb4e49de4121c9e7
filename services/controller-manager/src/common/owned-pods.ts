import { type KubeObject, PODS, type Pod, type ResourceRef } from '@holdfast/api';
import { describeError } from '@holdfast/platform';
import type { AvoidedNames } from './avoided-names.ts';
import type { CacheBarrier } from './cache-barrier.ts';
import type { ControllerContext } from './context.ts';
import { mayAdopt } from './live-check.ts';
import {
  apiVersionOf,
  controllerReference,
  isControlledBy,
  keyOf,
  nameOf,
  targetOf,
  uidOf,
  withOwner,
  withoutOwners,
} from './meta.ts';
import {
  inParallel,
  isAlreadyExists,
  isConflict,
  isNamespaceTerminating,
  isNotFound,
  isRefusal,
  unlessChanged,
} from './writes.ts';

/** The tools for writing the pods of an owner that counts its pods instead of naming them. */
export interface OwnedPodTools {
  readonly context: ControllerContext;
  readonly barrier: CacheBarrier;
  readonly avoided: AvoidedNames;
  readonly owner: KubeObject;
  readonly resource: ResourceRef;
}

/**
 * Looks at the live owner first: one that was deleted a moment ago must not collect pods that another one may have.
 * `change` is what else an adopted pod gets.
 */
export async function adoptPods(
  tools: OwnedPodTools,
  pods: readonly Pod[],
  change: (pod: Pod) => Pod = (pod) => pod,
): Promise<Error | undefined> {
  const { context, owner, resource } = tools;
  if (pods.length === 0) return undefined;
  if (!(await mayAdopt(context, { resource, object: owner }))) return undefined;
  const reference = controllerReference(owner, { apiVersion: apiVersionOf(resource), kind: resource.kind });
  return inParallel(pods, (pod) => updatePod(tools, change(withOwner(pod, reference))));
}

export const releasePods = (
  tools: OwnedPodTools,
  pods: readonly Pod[],
  change: (pod: Pod) => Pod = (pod) => pod,
): Promise<Error | undefined> =>
  inParallel(pods, (pod) => updatePod(tools, change(withoutOwners(pod, new Set([uidOf(tools.owner)])))));

async function updatePod(tools: OwnedPodTools, pod: Pod): Promise<void> {
  const updated = await unlessChanged(() => tools.context.client.update(PODS, pod));
  if (updated !== undefined) tools.barrier.wrote(keyOf(tools.owner), updated);
}

export async function createPod(tools: OwnedPodTools, pod: Pod): Promise<void> {
  const { barrier, owner } = tools;
  try {
    barrier.wrote(keyOf(owner), await tools.context.client.create(PODS, pod));
    tell(tools, 'Normal', 'SuccessfulCreate', `Created pod: ${nameOf(pod)}`);
  } catch (error) {
    if (isNamespaceTerminating(error)) return;
    if (isAlreadyExists(error)) {
      await learnHolder(tools, pod);
      return;
    }
    tell(tools, 'Warning', 'FailedCreate', `Error creating: ${describeError(error)}`);
    throw error;
  }
}

/** The name exists: either it is the pod that this pass wanted (another writer was faster) or a foreign pod. */
async function learnHolder({ context, barrier, avoided, owner }: OwnedPodTools, wanted: Pod): Promise<void> {
  const holder = await context.client.find(PODS, targetOf(wanted));
  const key = keyOf(owner);
  if (holder !== undefined && isControlledBy(holder, uidOf(owner))) {
    barrier.wrote(key, holder);
    return;
  }
  if (holder !== undefined) avoided.add(key, nameOf(holder));
  throw new Error(`the pod name ${nameOf(wanted)} was taken; the next pass looks for a free one`);
}

/** Graceful always: only the kubelet knows when the processes have ended. */
export async function deletePod(tools: OwnedPodTools, pod: Pod): Promise<void> {
  const { context, barrier } = tools;
  const key = keyOf(tools.owner);
  barrier.deleting(key, pod, context.clock.monotonic());
  try {
    await context.client.delete(PODS, targetOf(pod), { uid: uidOf(pod) });
    tell(tools, 'Normal', 'SuccessfulDelete', `Deleted pod: ${nameOf(pod)}`);
  } catch (error) {
    if (isRefusal(error)) barrier.deleteRefused(key, pod);
    else barrier.deleteUnanswered(key, pod, context.clock.monotonic());
    if (isNotFound(error) || isConflict(error)) return;
    tell(tools, 'Warning', 'FailedDelete', `Error deleting: ${describeError(error)}`);
    throw error;
  }
}

function tell(
  { context, owner }: OwnedPodTools,
  ...[type, reason, message]: ['Normal' | 'Warning', string, string]
): void {
  context.events.event(owner, { type, reason, message });
}
