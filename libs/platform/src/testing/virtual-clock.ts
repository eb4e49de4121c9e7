import { type Clock, sleepOn, type Timer } from '../clock.ts';
import { BinaryHeap } from '../collections/binary-heap.ts';
import { nextTurn } from '../event-loop.ts';

/** 2026-01-01T00:00:00Z. */
const EPOCH_MS = 1_767_225_600_000;

/** A clock that stands still until a test moves it. */
export interface VirtualClock extends Clock {
  /** Lets time pass. Fires timers in order; promises settle before the first, between two, and after the last. */
  advance(ms: number): Promise<void>;
  /** Fires the next timer up to this monotonic time. False when there is none: then the clock is at that time. */
  fireNext(untilMs: number): boolean;
  /** The same without a pause: timers fire, but no promise settles in between. */
  skip(ms: number): void;
  /** Moves the wall clock alone, as an operator does: no time passes. */
  jump(ms: number): void;
  pendingTimers(): number;
}

interface Pending {
  readonly atMs: number;
  readonly order: number;
  readonly fire: () => void;
}

export function createVirtualClock(startMs = EPOCH_MS): VirtualClock {
  const heap = new BinaryHeap<Pending>(isEarlier);
  /** Cancelled timers stay in the heap until their time comes. */
  const pending = new Set<Pending>();
  let elapsedMs = 0;
  let jumpedMs = 0;
  let order = 0;
  const timer = (delayMs: number, fire: () => void): Timer => {
    const entry = { atMs: elapsedMs + Math.max(0, delayMs), order: order++, fire };
    heap.push(entry);
    pending.add(entry);
    return { cancel: () => void pending.delete(entry) };
  };
  const fireNext = (untilMs: number): boolean => {
    for (let first = heap.peek(); first !== undefined && first.atMs <= untilMs; first = heap.peek()) {
      heap.pop();
      if (!pending.delete(first)) continue;
      elapsedMs = Math.max(elapsedMs, first.atMs);
      first.fire();
      return true;
    }
    elapsedMs = untilMs;
    return false;
  };
  return {
    now: () => startMs + jumpedMs + elapsedMs,
    monotonic: () => elapsedMs,
    timer,
    sleep: (delayMs, signal) => sleepOn(timer, delayMs, signal),
    fireNext,
    advance: async (ms) => {
      const untilMs = elapsedMs + ms;
      await nextTurn();
      while (fireNext(untilMs)) await nextTurn();
    },
    skip: (ms) => {
      const untilMs = elapsedMs + ms;
      while (fireNext(untilMs));
    },
    jump: (ms) => {
      jumpedMs += ms;
    },
    pendingTimers: () => pending.size,
  };
}

/** Timers of one time fire in the order of their creation. */
const isEarlier = (a: Pending, b: Pending): boolean => a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
