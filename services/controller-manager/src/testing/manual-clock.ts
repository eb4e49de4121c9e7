import { type Clock, sleepOn, type Timer } from '@holdfast/platform';

export interface ManualClock extends Clock {
  /** Moves both clocks forward and fires what falls due, in order. */
  advance(ms: number): void;
}

export function createManualClock(startMs = 1_767_225_600_000): ManualClock {
  let elapsedMs = 0;
  let sequence = 0;
  const pending = new Map<number, { at: number; fire: () => void }>();
  const timer = (delayMs: number, fire: () => void): Timer => {
    const id = sequence++;
    pending.set(id, { at: elapsedMs + Math.max(0, delayMs), fire });
    return { cancel: () => void pending.delete(id) };
  };
  const nextDue = (until: number): [number, { at: number; fire: () => void }] | undefined =>
    [...pending].filter(([, entry]) => entry.at <= until).sort(([a, x], [b, y]) => x.at - y.at || a - b)[0];
  return {
    now: () => startMs + elapsedMs,
    monotonic: () => elapsedMs,
    timer,
    sleep: (delayMs, signal) => sleepOn(timer, delayMs, signal),
    advance: (ms) => {
      const until = elapsedMs + ms;
      for (let due = nextDue(until); due !== undefined; due = nextDue(until)) {
        pending.delete(due[0]);
        elapsedMs = due[1].at;
        due[1].fire();
      }
      elapsedMs = until;
    },
  };
}
