import { type Clock, nextTurn, sleepOn, type Timer } from '@holdfast/platform';

const EPOCH_MS = 1_767_225_600_000;

export interface VirtualClock extends Clock {
  /** Lets time pass, firing timers in order and letting promises settle in between. */
  advance(ms: number): Promise<void>;
  /** Sets the wall clock; elapsed time continues unchanged. */
  jump(ms: number): void;
}

interface Pending {
  readonly atMs: number;
  readonly fire: () => void;
}

export function createVirtualClock(): VirtualClock {
  const pending = new Set<Pending>();
  let nowMs = 0;
  let skewMs = 0;
  const timer = (delayMs: number, fire: () => void): Timer => {
    const entry = { atMs: nowMs + Math.max(0, delayMs), fire };
    pending.add(entry);
    return { cancel: () => pending.delete(entry) };
  };
  const next = (untilMs: number): Pending | undefined => {
    let first: Pending | undefined;
    // In order of creation: the earlier of two simultaneous timers fires first.
    for (const entry of pending)
      if (entry.atMs <= untilMs && (first === undefined || entry.atMs < first.atMs)) first = entry;
    return first;
  };
  return {
    now: () => EPOCH_MS + nowMs + skewMs,
    jump: (ms) => {
      skewMs += ms;
    },
    monotonic: () => nowMs,
    timer,
    sleep: (delayMs, signal) => sleepOn(timer, delayMs, signal),
    advance: async (ms) => {
      const untilMs = nowMs + ms;
      await nextTurn();
      for (let entry = next(untilMs); entry !== undefined; entry = next(untilMs)) {
        pending.delete(entry);
        nowMs = entry.atMs;
        entry.fire();
        await nextTurn();
      }
      nowMs = untilMs;
    },
  };
}
