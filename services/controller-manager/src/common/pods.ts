import {
  DELETION_COST_ANNOTATION,
  isPodFinished,
  isPodReady,
  type OwnerReference,
  type Pod,
  type PodCondition,
  type PodTemplateSpec,
  podCondition,
} from '@holdfast/api';
import { formatTime } from '@holdfast/platform';
import { FAILED_POD_REST_MS } from '../limits.ts';
import { compareText, createdAt, isTerminating, timeOf, uidOf } from './meta.ts';

/** Counts towards a workload's desired number: neither finished nor on its way out. */
export const isActive = (pod: Pod): boolean => !isPodFinished(pod) && !isTerminating(pod);

const readySince = (pod: Pod): number => timeOf(podCondition(pod, 'Ready')?.lastTransitionTime);

/** Returns the time at which a ready pod becomes available; `undefined` while it is not ready. */
export function availableAt(pod: Pod, minReadySeconds: number): number | undefined {
  if (!isPodReady(pod)) return undefined;
  return minReadySeconds === 0 ? 0 : readySince(pod) + minReadySeconds * 1000;
}

export function isAvailable(pod: Pod, minReadySeconds: number, now: number): boolean {
  const at = availableAt(pod, minReadySeconds);
  return at !== undefined && at <= now;
}

/** Returns the time until the next ready pod becomes available, when a pass is due without any event. */
export function nextAvailabilityMs(pods: readonly Pod[], minReadySeconds: number, now: number): number | undefined {
  if (minReadySeconds === 0) return undefined;
  const waits = pods
    .map((pod) => availableAt(pod, minReadySeconds))
    .filter((at): at is number => at !== undefined && at > now)
    .map((at) => at - now);
  return waits.length === 0 ? undefined : Math.min(...waits);
}

/** A copy whose status has `condition`; the transition time moves only when the status value does. */
export function withPodCondition(pod: Pod, condition: Omit<PodCondition, 'lastTransitionTime'>, now: number): Pod {
  const conditions = pod.status?.conditions ?? [];
  const old = conditions.find((existing) => existing.type === condition.type);
  const lastTransitionTime =
    old?.status === condition.status && old.lastTransitionTime !== undefined ? old.lastTransitionTime : formatTime(now);
  const next: PodCondition = { ...condition, lastTransitionTime };
  const replaced = old === undefined ? [...conditions, next] : conditions.map((c) => (c === old ? next : c));
  return { ...pod, status: { ...pod.status, conditions: replaced } };
}

export const GENERATED_NAME_BASE_MAX_CHARS = 58;

/** The fixed part of a generated pod name, cut as the API server cuts `generateName`. */
export const generatedNamePrefix = (ownerName: string): string =>
  `${ownerName}-`.slice(0, GENERATED_NAME_BASE_MAX_CHARS);

/** A pod as the template describes it. Nothing is left for the writer to choose, so that replaying the write is harmless. */
export function podFromTemplate(
  template: PodTemplateSpec,
  identity: {
    readonly namespace: string;
    readonly name: string;
    readonly generateName?: string;
    readonly owner: OwnerReference;
  },
): Pod {
  const { labels, annotations, finalizers } = template.metadata ?? {};
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: identity.name,
      namespace: identity.namespace,
      ...(identity.generateName === undefined ? {} : { generateName: identity.generateName }),
      ...(labels === undefined ? {} : { labels: { ...labels } }),
      ...(annotations === undefined ? {} : { annotations: { ...annotations } }),
      ...(finalizers === undefined ? {} : { finalizers: [...finalizers] }),
      ownerReferences: [identity.owner],
    },
    spec: template.spec,
    status: {},
  };
}

const PHASE_ORDER: ReadonlyMap<string, number> = new Map(Object.entries({ Pending: 0, Unknown: 1, Running: 2 }));

function deletionCost(pod: Pod): number {
  const text = pod.metadata.annotations?.[DELETION_COST_ANNOTATION];
  return text !== undefined && /^-?\d{1,10}$/.test(text) ? Number(text) : 0;
}

const restarts = (pod: Pod): number =>
  (pod.status?.containerStatuses ?? []).reduce((most, container) => Math.max(most, container.restartCount), 0);

/** Ages are compared by magnitude, so that a scale-down does not always hit the newest of pods of like age. */
function ageMagnitude(time: number, now: number): number {
  const ageMs = now - time;
  return ageMs > 0 ? Math.trunc(Math.log2(ageMs * 1e6)) : -1;
}

function compareAge(aTime: number, bTime: number, pair: { a: Pod; b: Pod; now: number }): number {
  if (aTime === bTime) return 0;
  if (aTime === 0 || bTime === 0) return aTime === 0 ? -1 : 1;
  const difference = ageMagnitude(aTime, pair.now) - ageMagnitude(bTime, pair.now);
  return difference === 0 ? compareText(uidOf(pair.a), uidOf(pair.b)) : difference;
}

/**
 * The pods in the order in which a scale-down takes them: those that cost least to lose first.
 * `related` counts the active pods of sibling workloads per node: of two equal pods the one on the fuller node goes.
 */
export function inDeletionOrder(pods: readonly Pod[], related: ReadonlyMap<string, number>, now: number): Pod[] {
  // Read once for each pod, not once for each comparison.
  const facts = pods.map((pod) => ({
    pod,
    assigned: (pod.spec?.nodeName ?? '') === '' ? 0 : 1,
    phase: PHASE_ORDER.get(pod.status?.phase ?? 'Pending') ?? 0,
    ready: Number(isPodReady(pod)),
    cost: deletionCost(pod),
    rank: related.get(pod.spec?.nodeName ?? '') ?? 0,
    readySince: isPodReady(pod) ? readySince(pod) : 0,
    restarts: restarts(pod),
    createdAt: createdAt(pod),
  }));
  const compare = (a: (typeof facts)[number], b: (typeof facts)[number]): number =>
    a.assigned - b.assigned ||
    a.phase - b.phase ||
    a.ready - b.ready ||
    a.cost - b.cost ||
    b.rank - a.rank ||
    compareAge(a.readySince, b.readySince, { a: a.pod, b: b.pod, now }) ||
    b.restarts - a.restarts ||
    compareAge(a.createdAt, b.createdAt, { a: a.pod, b: b.pod, now }) ||
    compareText(uidOf(a.pod), uidOf(b.pod));
  return facts.sort(compare).map(({ pod }) => pod);
}

/**
 * Returns how long a finished pod still counts: otherwise a pod that ends right after its creation would be replaced
 * without a pause.
 */
export const restMs = (pod: Pod, now: number): number => createdAt(pod) + FAILED_POD_REST_MS - now;
