import { type Lease, promiseOf } from '@holdfast/api';
import { nameOf, uidOf } from '../../common/meta.ts';

/** Times are this process' own monotonic milliseconds. */
export interface PromiseLimits {
  /** The largest difference between the rates of two clocks, as a share. */
  readonly clockRate: number;
  /** For the kill, and for pauses of the killing process. */
  readonly marginMs: number;
  /** After this long without an evaluation, nothing is known about the meantime. */
  readonly stallMs: number;
  /** A node is heard when its lease changed within this time: twice what it takes between two renewals. */
  readonly heardPromisingMs: number;
  readonly heardOtherMs: number;
}

interface SeenLease {
  readonly stamp: string;
  /** When this revision was first seen: after it was committed, which is after it was sent. */
  readonly sinceMs: number;
}

export interface PromiseMemory {
  readonly seen: ReadonlyMap<string, SeenLease>;
  readonly lookedAtMs: number | undefined;
  /** When a renewal of any node was seen last. */
  readonly heardAtMs: number | undefined;
  /** No node was heard in the last evaluation: this process may be unable to receive renewals. */
  readonly wasBlind: boolean;
}

export const NEW_PROMISE_MEMORY: PromiseMemory = {
  seen: new Map(),
  lookedAtMs: undefined,
  heardAtMs: undefined,
  wasBlind: false,
};

export interface PromiseDecision {
  readonly memory: PromiseMemory;
  /** Promises that are waited out. Each is broken by a compare-and-swap on this very revision. */
  readonly due: readonly Lease[];
}

/**
 * Returns the promises that are waited out. A time in which this process was stopped or heard no node counts for nobody.
 * Safety does not need this, because the compare-and-swap provides it. But a node that could not be heard must not lose
 * its pods.
 */
export function decidePromises(
  memory: PromiseMemory,
  leases: readonly Lease[],
  nowMs: number,
  limits: PromiseLimits,
): PromiseDecision {
  const looked = leases.map((lease) => {
    const stamp = `${uidOf(lease)} ${lease.metadata.resourceVersion ?? ''}`;
    const before = memory.seen.get(nameOf(lease));
    return { lease, stamp, sinceMs: before?.stamp === stamp ? before.sinceMs : nowMs };
  });
  const isBlind = !looked.some(({ lease, sinceMs }) => nowMs - sinceMs <= heardWithin(lease, limits));
  const lostMs = lostTimeMs(memory, isBlind, nowMs, limits);
  const seen = new Map(
    looked.map(({ lease, stamp, sinceMs }) => [nameOf(lease), { stamp, sinceMs: Math.min(nowMs, sinceMs + lostMs) }]),
  );
  const heardAtMs = looked.some(({ sinceMs }) => sinceMs === nowMs) ? nowMs : (memory.heardAtMs ?? nowMs) + lostMs;
  const due =
    lostMs > 0 || isBlind ? [] : looked.filter((each) => isWaitedOut(each, nowMs, limits)).map(({ lease }) => lease);
  return { memory: { seen, lookedAtMs: nowMs, heardAtMs, wasBlind: isBlind }, due };
}

/** The time before this look that no wait may contain: a pause of this process, and a silence of all nodes that has ended. */
function lostTimeMs(memory: PromiseMemory, isBlind: boolean, nowMs: number, { stallMs }: PromiseLimits): number {
  const pausedMs = nowMs - (memory.lookedAtMs ?? nowMs);
  const silentMs = memory.wasBlind && !isBlind ? nowMs - (memory.heardAtMs ?? nowMs) : 0;
  return Math.max(pausedMs > stallMs ? pausedMs : 0, silentMs);
}

function heardWithin(lease: Lease, { heardPromisingMs, heardOtherMs }: PromiseLimits): number {
  return promiseOf(lease) === undefined ? heardOtherMs : heardPromisingMs;
}

function isWaitedOut(
  { lease, sinceMs }: { readonly lease: Lease; readonly sinceMs: number },
  nowMs: number,
  limits: PromiseLimits,
): boolean {
  const promise = promiseOf(lease);
  if (promise === undefined || promise.isBroken) return false;
  return nowMs - sinceMs > waitMs(promise.durationMs, limits);
}

/** The time from the first observation of a renewal to the certain death of the pods it covers. */
export const waitMs = (durationMs: number, { clockRate, marginMs }: Pick<PromiseLimits, 'clockRate' | 'marginMs'>) =>
  durationMs * (1 + clockRate) + marginMs;
