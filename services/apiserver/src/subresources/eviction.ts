import type { DeleteOptions, Eviction, KubeObject, Pod, PodDisruptionBudget } from '@holdfast/api';
import { findResource, POD_DISRUPTION_BUDGETS } from '@holdfast/api';
import { badRequest, compileLabelSelector, StatusError, unclassifiedError } from '@holdfast/machinery';
import { formatTime, invariant } from '@holdfast/platform';
import { decodePod } from '../admission/decode.ts';
import type { CachedObject } from '../cache/cached-object.ts';
import type { Core } from '../core.ts';
import { jsonAnswer } from '../http/answers.ts';
import { WRITE_ATTEMPTS_MAX } from '../limits.ts';
import { readLatest } from '../reader.ts';
import { keyOf } from '../served.ts';
import { deleteObject } from '../verbs/delete.ts';
import { readDryRun } from '../verbs/write-options.ts';
import { missing, updateStored } from '../verbs/write-results.ts';
import { readReview } from '../virtual/review.ts';
import type { Handler, Subresource } from './port.ts';

const KIND = { group: 'policy', version: 'v1', kind: 'Eviction' } as const;
/** A budget that remembers more disrupted pods than this is not being looked after by its controller. */
const DISRUPTED_PODS_MAX = 2_000;

/** Deletes a pod if its disruption budget has room for it. */
const create: Handler = async (core, context, definition) => {
  const { namespace, name } = context.info;
  const { deleteOptions = {}, metadata } = readReview(context, KIND) as Eviction;
  if ((metadata?.name ?? '') !== '' && metadata?.name !== name) {
    throw badRequest('name in URL does not match name in Eviction object');
  }
  const pod = await readLatest(core, keyOf(definition, namespace, name));
  if (pod === undefined) throw missing(definition, name);
  const dryRun = readDryRun(
    [...(deleteOptions.dryRun ?? []), ...context.request.query.getAll('dryRun')],
    'DeleteOptions',
  );
  const options = withUid(deleteOptions, pod.object);
  if (!mayIgnoreBudget(decodePod(pod.object))) await spendBudget(core, decodePod(pod.object), dryRun);
  await deleteObject(core, context, { definition, target: { namespace, name }, options, dryRun });
  return jsonAnswer(201, { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 });
};

export const eviction: Subresource = {
  name: 'eviction',
  servedBy: (definition) => definition.group === '' && definition.plural === 'pods',
  verbs: { create },
  body: KIND,
};

/** The budget was spent for this pod, not for a later one of the same name. */
function withUid(options: DeleteOptions, { metadata }: KubeObject): DeleteOptions {
  const uid = options.preconditions?.uid ?? metadata.uid;
  return { ...options, preconditions: { ...options.preconditions, ...(uid === undefined ? {} : { uid }) } };
}

/** Pods that serve nobody, or are on their way out already, cost no budget. */
function mayIgnoreBudget({ metadata, status }: Pod): boolean {
  const phase = status?.phase ?? '';
  return metadata.deletionTimestamp !== undefined || phase === 'Succeeded' || phase === 'Failed' || phase === 'Pending';
}

async function spendBudget(core: Core, pod: Pod, dryRun: boolean): Promise<void> {
  const budgets = core.reader
    .list(POD_DISRUPTION_BUDGETS, pod.metadata.namespace)
    .filter((each) => compileLabelSelector(each.spec?.selector).matches(pod.metadata.labels ?? {}));
  const [budget, second] = budgets;
  if (budget === undefined) return;
  if (second !== undefined) {
    throw unclassifiedError(
      'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
    );
  }
  if (!isReady(pod) && unhealthyMayGo(budget)) return;
  for (let attempt = 0; attempt < WRITE_ATTEMPTS_MAX; attempt++) {
    if (await trySpend(core, pod, budget.metadata.name ?? '', dryRun)) return;
  }
  throw tooMany('the budget is changing too fast; try again');
}

function unhealthyMayGo({ spec, status }: PodDisruptionBudget): boolean {
  if (spec?.unhealthyPodEvictionPolicy === 'AlwaysAllow') return true;
  return (status?.currentHealthy ?? 0) >= (status?.desiredHealthy ?? 0) && (status?.desiredHealthy ?? 0) > 0;
}

/** One compare-and-swap on the budget: two evictions cannot spend the same disruption. False = try again. */
async function trySpend(core: Core, pod: Pod, name: string, dryRun: boolean): Promise<boolean> {
  const definition = findResource('policy', 'v1', 'poddisruptionbudgets');
  invariant(definition !== undefined, 'a budget that was found is of a kind that is served');
  const stored: CachedObject | undefined = await readLatest(
    core,
    keyOf(definition, pod.metadata.namespace ?? '', name),
  );
  if (stored === undefined) return true;
  const budget = stored.mutableCopy() as PodDisruptionBudget;
  checkBudget(budget);
  if (dryRun) return true;
  if (budget.status === undefined) return true;
  const disruptedPods = { ...budget.status.disruptedPods, [pod.metadata.name ?? '']: formatTime(core.clock.now()) };
  const disruptionsAllowed = budget.status.disruptionsAllowed - 1;
  budget.status = { ...budget.status, disruptionsAllowed, disruptedPods };
  return (await updateStored(core, definition, { old: stored, object: budget })).outcome === 'done';
}

function checkBudget({ metadata, status }: PodDisruptionBudget): void {
  const name = metadata.name ?? '';
  if ((status?.observedGeneration ?? 0) < (metadata.generation ?? 0)) {
    throw tooMany(`The disruption budget ${name} is still being processed by the server.`, 10);
  }
  const allowed = status?.disruptionsAllowed ?? 0;
  if (allowed < 0) throw unclassifiedError('pdb disruptions allowed is negative');
  if (Object.keys(status?.disruptedPods ?? {}).length > DISRUPTED_PODS_MAX) {
    throw unclassifiedError('DisruptedPods map too big - too many evictions not confirmed by PDB controller');
  }
  if (allowed > 0) return;
  throw tooMany(
    `The disruption budget ${name} needs ${status?.desiredHealthy ?? 0} healthy pods and has ${status?.currentHealthy ?? 0} currently`,
  );
}

function tooMany(cause: string, retryAfterSeconds?: number): StatusError {
  return new StatusError({
    code: 429,
    reason: 'TooManyRequests',
    message: "Cannot evict pod as it would violate the pod's disruption budget.",
    details: {
      causes: [{ reason: 'DisruptionBudget', message: cause }],
      ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    },
  });
}

const isReady = ({ status }: Pod): boolean =>
  (status?.conditions ?? []).some((condition) => condition.type === 'Ready' && condition.status === 'True');
