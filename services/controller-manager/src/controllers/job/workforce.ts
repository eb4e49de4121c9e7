import type { Job, Pod } from '@holdfast/api';
import { isTerminating } from '../../common/meta.ts';
import { heldNames } from '../../common/names.ts';
import { inDeletionOrder } from '../../common/pods.ts';
import { JOB_PODS_PER_PASS } from '../../limits.ts';
import { jobBackoffMs } from './backoff.ts';
import { buildIndexedPods, buildPods, type NameRoom } from './build-pod.ts';
import { hasLimitPerIndex, indexOf, isIndexed, isSuspended, replacesFailedOnly } from './facts.ts';
import { IndexSet } from './indexes.ts';
import { indexBackoffMs, lastFailedPods } from './per-index.ts';
import { indexesOf, type Picture } from './picture.ts';
import type { Verdict } from './verdict.ts';

/** Pods to start and pods to stop; never both in one pass. */
export interface Workforce {
  readonly create: readonly Pod[];
  readonly delete: readonly Pod[];
  readonly lookAgainMs: number | undefined;
}

const UNCHANGED: Workforce = { create: [], delete: [], lookAgainMs: undefined };

export interface WorkforceInput {
  readonly picture: Picture;
  readonly verdict: Verdict | undefined;
  readonly avoidedNames: ReadonlySet<string>;
}

export function workforce({ picture, verdict, avoidedNames }: WorkforceInput): Workforce {
  const { job, active } = picture;
  if (isTerminating(job)) return UNCHANGED;
  if (verdict !== undefined || isSuspended(job)) return { ...UNCHANGED, delete: active };
  const wanted = wantedPods(picture);
  const surplus = surplusPods(picture, Math.max(0, active.length - wanted));
  if (surplus.length > 0) return { ...UNCHANGED, delete: surplus.slice(0, JOB_PODS_PER_PASS) };
  const waiting = replacesFailedOnly(job) ? picture.terminating.length : 0;
  const missing = Math.min(wanted - active.length - waiting, JOB_PODS_PER_PASS);
  if (missing <= 0) return UNCHANGED;
  const room = { held: heldNames(picture.pods), avoided: avoidedNames, now: picture.now };
  return isIndexed(job) ? startIndexes(picture, missing, room) : startPods(picture, missing, room);
}

/** Returns how many pods should be active. A work queue gets no new pods after one has found it empty. */
export function wantedPods({ job, active, succeeded }: Picture): number {
  const { completions, parallelism = 1 } = job.spec;
  if (completions === undefined) return succeeded > 0 ? active.length : parallelism;
  return Math.max(0, Math.min(completions - succeeded, parallelism));
}

/** All but one pod of an index, pods of an index that is no more, and then those that cost least to lose. */
function surplusPods({ job, active, now }: Picture, atLeast: number): readonly Pod[] {
  const doubled = isIndexed(job) ? superfluous(job, active, now) : new Set<Pod>();
  if (doubled.size >= atLeast) return [...doubled];
  const others = inDeletionOrder(
    active.filter((pod) => !doubled.has(pod)),
    new Map(),
    now,
  );
  return [...doubled, ...others.slice(0, atLeast - doubled.size)];
}

function superfluous(job: Job, active: readonly Pod[], now: number): Set<Pod> {
  const byIndex = Map.groupBy(active, (pod) => indexOf(job, pod));
  const surplus = new Set(byIndex.get(undefined) ?? []);
  for (const [index, pods] of byIndex) {
    if (index === undefined || pods.length === 1) continue;
    for (const pod of inDeletionOrder(pods, new Map(), now).slice(0, -1)) surplus.add(pod);
  }
  return surplus;
}

function startPods(picture: Picture, count: number, room: NameRoom): Workforce {
  const waitMs = jobBackoffMs(picture);
  if (waitMs > 0) return { ...UNCHANGED, lookAgainMs: waitMs };
  return { ...UNCHANGED, create: buildPods(picture.job, count, room) };
}

/** Returns the lowest indexes without a pod. A recently failed index keeps its position while it backs off. */
function startIndexes(picture: Picture, count: number, room: NameRoom): Workforce {
  const { job, now } = picture;
  const next = pendingIndexes(picture, count);
  if (!hasLimitPerIndex(job)) {
    const waitMs = jobBackoffMs(picture);
    if (waitMs > 0) return { ...UNCHANGED, lookAgainMs: waitMs };
    return { ...UNCHANGED, create: buildIndexedPods(job, next, { room, lastFailed: new Map() }) };
  }
  const lastFailed = lastFailedPods(picture);
  const waits = new Map(next.map((index) => [index, indexBackoffMs(lastFailed.get(index), now)]));
  const due = next.filter((index) => waits.get(index) === 0);
  const later = [...waits.values()].filter((ms) => ms > 0);
  return {
    ...UNCHANGED,
    create: buildIndexedPods(job, due, { room, lastFailed }),
    lookAgainMs: later.length === 0 ? undefined : Math.min(...later),
  };
}

function pendingIndexes(picture: Picture, count: number): readonly number[] {
  const { job, active, terminating, succeededIndexes, failedIndexes } = picture;
  const busy = replacesFailedOnly(job) ? [...active, ...terminating] : active;
  const taken = succeededIndexes.union(failedIndexes ?? IndexSet.empty).with(indexesOf(job, busy));
  return taken.firstMissing(count, job.spec.completions ?? 0);
}
