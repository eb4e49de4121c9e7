import {
  type Condition,
  findResource,
  isPodReady,
  isTerminating,
  POD_DISRUPTION_BUDGETS,
  PODS,
  type Pod,
  type PodDisruptionBudget,
  type PodDisruptionBudgetStatus,
  selectorOf,
} from '@holdfast/api';
import { forbiddenError, ownValue, StatusError, unclassifiedError } from '@holdfast/machinery';
import { formatTime, invariant } from '@holdfast/platform';
import { catchUp, readLatest } from '../cache/reader.ts';
import type { Core } from '../core.ts';
import { DISRUPTED_PODS_MAX, EVICTION_RETRY_SECONDS, WRITE_ATTEMPTS_MAX } from '../limits.ts';
import { keyOf } from '../objects/object-keys.ts';
import { updateStored } from '../verbs/write-results.ts';

/** The one budget that guards the pod, as every write acknowledged before the call left it. */
export async function findBudget(core: Core, pod: Pod): Promise<PodDisruptionBudget | undefined> {
  await catchUp(core);
  const [budget, second] = core.reader
    .list(POD_DISRUPTION_BUDGETS, pod.metadata.namespace)
    .filter((each) => selectorOf(each.spec.selector).matches(pod.metadata.labels));
  if (second === undefined) return budget;
  throw unclassifiedError(
    'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
  );
}

/** A pod that is not ready is no loss: always, or as long as the ready ones are enough. */
export function unhealthyMayGo({ spec, status }: PodDisruptionBudget): boolean {
  if (spec.unhealthyPodEvictionPolicy === 'AlwaysAllow') return true;
  return status.currentHealthy >= status.desiredHealthy && status.desiredHealthy > 0;
}

export interface Spending {
  readonly budget: PodDisruptionBudget;
  readonly pod: Pod;
  readonly dryRun: boolean;
}

/** Takes one disruption from the budget, or throws why it has none. */
export async function spend(core: Core, spending: Spending): Promise<void> {
  for (let attempt = 0; attempt < WRITE_ATTEMPTS_MAX; attempt++) {
    if (await trySpend(core, spending)) return;
  }
  throw tooMany('the budget is changing too fast; try again', EVICTION_RETRY_SECONDS);
}

/** One compare-and-swap on the budget: two evictions cannot spend the same disruption. Resolves with false to retry. */
async function trySpend(core: Core, { budget, pod, dryRun }: Spending): Promise<boolean> {
  const definition = findResource('policy', 'v1', 'poddisruptionbudgets');
  invariant(definition !== undefined, 'a budget that was found is of a kind that is served');
  const { namespace = '', name = '' } = budget.metadata;
  const stored = await readLatest(core, keyOf(definition, namespace, name));
  // Taken away meanwhile: nothing guards the pod any more.
  if (stored === undefined) return true;
  const current = stored.mutableCopy() as PodDisruptionBudget;
  checkBudget(current);
  await checkPods(core, current, pod);
  if (dryRun) return true;
  const now = formatTime(core.clock.now());
  const object = { ...current, status: spent(current, pod.metadata.name ?? '', now) };
  return (await updateStored(core, definition, { old: stored, object })).outcome === 'done';
}

/**
 * The budget's counts may be stale: pods that were deleted or became unready since then are lost as well. So this
 * counts the pods as of every acknowledged write. Changes between this count and the deletion can still add up: no
 * transaction spans all pods.
 */
async function checkPods(core: Core, budget: PodDisruptionBudget, pod: Pod): Promise<void> {
  await catchUp(core);
  const healthy = core.reader.list(PODS, budget.metadata.namespace).filter((each) => isHealthy(budget, each));
  const { minAvailable } = budget.spec;
  const desired = typeof minAvailable === 'number' ? minAvailable : budget.status.desiredHealthy;
  const left = healthy.filter(({ metadata }) => metadata.uid !== pod.metadata.uid).length;
  if (left < desired) throw noRoom(budget, desired, healthy.length);
}

const isHealthy = ({ spec, status }: PodDisruptionBudget, pod: Pod): boolean =>
  isPodReady(pod) &&
  !isTerminating(pod) &&
  ownValue(status.disruptedPods, pod.metadata.name ?? '') === undefined &&
  selectorOf(spec.selector).matches(pod.metadata.labels);

function spent({ status }: PodDisruptionBudget, podName: string, now: string): PodDisruptionBudgetStatus {
  const disruptionsAllowed = status.disruptionsAllowed - 1;
  const conditions = disruptionsAllowed > 0 ? status.conditions : exhausted(status, now);
  return {
    ...status,
    disruptionsAllowed,
    disruptedPods: { ...status.disruptedPods, [podName]: now },
    ...(conditions === undefined ? {} : { conditions }),
  };
}

function exhausted({ conditions = [], observedGeneration = 0 }: PodDisruptionBudgetStatus, now: string): Condition[] {
  const old = conditions.find(({ type }) => type === 'DisruptionAllowed');
  const condition: Condition = {
    type: 'DisruptionAllowed',
    status: 'False',
    reason: 'InsufficientPods',
    message: '',
    observedGeneration,
    lastTransitionTime: old?.status === 'False' ? old.lastTransitionTime : now,
  };
  return old === undefined ? [...conditions, condition] : conditions.map((each) => (each === old ? condition : each));
}

function checkBudget(budget: PodDisruptionBudget): void {
  const { metadata, status } = budget;
  const { name = '', generation = 0 } = metadata;
  if ((status.observedGeneration ?? 0) < generation) throw notYetCounted(budget);
  const allowed = status.disruptionsAllowed;
  if (allowed < 0) throw refused(name, 'pdb disruptions allowed is negative');
  if (Object.keys(status.disruptedPods ?? {}).length > DISRUPTED_PODS_MAX) {
    throw refused(name, 'DisruptedPods map too big - too many evictions not confirmed by PDB controller');
  }
  if (allowed > 0) return;
  throw noRoom(budget, status.desiredHealthy, status.currentHealthy);
}

const noRoom = ({ metadata: { name = '' } }: PodDisruptionBudget, desired: number, healthy: number): StatusError =>
  tooMany(`The disruption budget ${name} needs ${desired} healthy pods and has ${healthy} currently`);

const refused = (name: string, why: string): StatusError =>
  forbiddenError({ group: 'policy', resource: 'poddisruptionbudget', name }, why);

/** The budget's counts belong to an older spec. */
export const notYetCounted = ({ metadata }: PodDisruptionBudget): StatusError =>
  tooMany(
    `The disruption budget ${metadata.name ?? ''} is still being processed by the server.`,
    EVICTION_RETRY_SECONDS,
  );

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
