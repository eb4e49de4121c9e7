import {
  type DeleteOptions,
  type Eviction,
  isPodFinished,
  isPodReady,
  isTerminating,
  type KubeObject,
  type Pod,
  type PodDisruptionBudget,
  podCondition,
} from '@holdfast/api';
import { badRequest, conflict, MODIFIED_CONCURRENTLY, StatusError } from '@holdfast/machinery';
import { formatTime } from '@holdfast/platform';
import { refuseUnlessLive } from '../admission/plugins/namespace-lifecycle.ts';
import { asPod } from '../admission/typed-objects.ts';
import { readLatest } from '../cache/reader.ts';
import type { Core } from '../core.ts';
import type { ResourceContext } from '../http/context.ts';
import { valueAnswer } from '../http/object-answer.ts';
import { WRITE_ATTEMPTS_MAX } from '../limits.ts';
import { keyOf, subjectOf } from '../objects/object-keys.ts';
import { createKeyedMutex, type KeyedMutex } from '../turns/keyed-mutex.ts';
import { type Deletion, deleteObject } from '../verbs/delete.ts';
import { checkOptions } from '../verbs/delete-options.ts';
import { refuseOtherNamespace } from '../verbs/place-in-namespace.ts';
import { readReview } from '../verbs/review.ts';
import { readWriteOptions } from '../verbs/write-options.ts';
import { missing } from '../verbs/write-results.ts';
import { admitPosted } from './admit-posted.ts';
import { findBudget, notYetCounted, spend, unhealthyMayGo } from './disruption-budget.ts';
import type { Handler, Subresource } from './port.ts';

const KIND = { group: 'policy', version: 'v1', kind: 'Eviction' } as const;

/** Deletes a pod if its disruption budget has room for it. */
const create: Handler = async (core, context, definition) => {
  const { namespace, name } = context.info;
  const document = readReview(context, KIND, ['policy/v1beta1']) as Eviction;
  const { deleteOptions = {}, metadata } = document;
  refuseOtherNamespace(metadata?.namespace, namespace);
  await refuseUnlessLive(core.reader, namespace, () => subjectOf(definition, name));
  if ((metadata?.name ?? '') !== name) throw badRequest('name in URL does not match name in Eviction object');
  const asked = readWriteOptions(context, 'CreateOptions');
  checkOptions(deleteOptions);
  const dryRun = asked.dryRun || (deleteOptions.dryRun ?? []).length > 0;
  await admitPosted(core, context, definition, { kind: KIND, subresource: 'eviction', document, dryRun });
  const target = { namespace, name };
  const how = { options: deleteOptions, dryRun, isReviewed: true, prepare: markEvicted } as const;
  await inTurn({ core, context, deletion: { definition, target, ...how } });
  return valueAnswer(context, 201, { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 });
};

export const eviction: Subresource = {
  name: 'eviction',
  servedBy: (definition) => definition.group === '' && definition.plural === 'pods',
  verbs: { create },
  body: KIND,
};

interface EvictionRequest {
  readonly core: Core;
  readonly context: ResourceContext;
  readonly deletion: Deletion;
}

const mutexOf = new WeakMap<Core, KeyedMutex>();

/** Evictions under one budget go one after the other in this process; between processes the budget's revision decides. */
async function inTurn(request: EvictionRequest): Promise<void> {
  const { core } = request;
  const pod = await readPod(request);
  const budget = costsNothing(pod) ? undefined : await findBudget(core, pod);
  if (budget === undefined) return tryOften(request);
  const mutex = mutexOf.get(core) ?? createKeyedMutex();
  mutexOf.set(core, mutex);
  return mutex.run(budget.metadata.uid ?? '', () => tryOften(request));
}

/** Retries a pod that changed between read and delete, unless the client named a revision. */
async function tryOften(request: EvictionRequest): Promise<void> {
  const { definition, target, options } = request.deletion;
  for (let attempt = 1; attempt <= WRITE_ATTEMPTS_MAX; attempt++) {
    try {
      await evictOnce(request);
      return;
    } catch (error) {
      if (!(error instanceof PodChanged)) throw error;
      if (options.preconditions?.resourceVersion !== undefined) throw error.cause;
    }
  }
  throw conflict(subjectOf(definition, target.name), MODIFIED_CONCURRENTLY);
}

async function evictOnce(request: EvictionRequest): Promise<void> {
  const pod = await readPod(request);
  if (costsNothing(pod)) return remove(request, pod, isOver(pod) ? 'any state' : 'this state');
  const budget = await findBudget(request.core, pod);
  if (budget === undefined) return remove(request, pod, 'any state');
  if (!isPodReady(pod) && unhealthyMayGo(budget)) return removeUnhealthy(request, pod, budget);
  await spend(request.core, { budget, pod, dryRun: request.deletion.dryRun });
  return remove(request, pod, 'any state');
}

async function readPod({ core, deletion: { definition, target } }: EvictionRequest): Promise<Pod> {
  const stored = await readLatest(core, keyOf(definition, target.namespace, target.name));
  if (stored === undefined) throw missing(definition, target.name);
  return asPod(stored.object);
}

/** The pod is not what the decision was about any more. */
class PodChanged extends Error {}

/**
 * The scope of a decision: the pod in any state, or only in the observed state, because in another one it would cost a
 * disruption.
 */
type Decided = 'any state' | 'this state';

async function remove({ core, context, deletion }: EvictionRequest, pod: Pod, about: Decided): Promise<void> {
  const named = deletion.options.preconditions;
  const preconditions = {
    uid: named?.uid ?? pod.metadata.uid,
    ...(about === 'this state' ? { resourceVersion: pod.metadata.resourceVersion } : {}),
    ...(named?.resourceVersion === undefined ? {} : { resourceVersion: named.resourceVersion }),
  };
  const options = { ...deletion.options, preconditions } as DeleteOptions;
  try {
    await deleteObject(core, context, { ...deletion, options });
  } catch (error) {
    const isOther = named?.uid !== undefined && named.uid !== pod.metadata.uid;
    const lost = about === 'this state' && !isOther && error instanceof StatusError && error.reason === 'Conflict';
    throw lost ? new PodChanged('the pod changed', { cause: error }) : error;
  }
}

/** A pod that becomes healthy meanwhile costs a disruption: the client must retry. */
async function removeUnhealthy(request: EvictionRequest, pod: Pod, budget: PodDisruptionBudget): Promise<void> {
  try {
    await remove(request, pod, 'this state');
  } catch (error) {
    const isOurs = request.deletion.options.preconditions?.resourceVersion === undefined;
    throw error instanceof PodChanged && isOurs ? notYetCounted(budget) : error;
  }
}

const isOver = (pod: Pod): boolean => isTerminating(pod) || isPodFinished(pod);

/** Pods that do not serve yet, or are terminating, cost no disruption. */
const costsNothing = (pod: Pod): boolean => isOver(pod) || pod.status?.phase === 'Pending';

/** The same write that deletes the pod records the reason in it. */
function markEvicted(object: KubeObject, now: number): KubeObject {
  const pod = asPod(object);
  const conditions = pod.status?.conditions ?? [];
  const old = podCondition(pod, 'DisruptionTarget');
  const lastTransitionTime = old?.status === 'True' ? old.lastTransitionTime : formatTime(now);
  const mark = {
    type: 'DisruptionTarget',
    status: 'True',
    reason: 'EvictionByEvictionAPI',
    message: 'Eviction API: evicting',
    ...(lastTransitionTime === undefined ? {} : { lastTransitionTime }),
  };
  return { ...pod, status: { ...pod.status, conditions: [...conditions.filter((each) => each !== old), mark] } } as Pod;
}
