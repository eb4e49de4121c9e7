import { type Clock, nextTurn, sleepOn, type Timer } from '@holdfast/platform';

const EPOCH_MS = 1_767_225_600_000;

export interface VirtualClock extends Clock {
  /** Advances time, fires timers in order and lets promises settle in between. */
  advance(ms: number): Promise<void>;
  pendingTimers(): number;
}

interface Pending {
  readonly atMs: number;
  readonly order: number;
  readonly fire: () => void;
}

export function createVirtualClock(): VirtualClock {
  const pending = new Set<Pending>();
  let nowMs = 0;
  let order = 0;
  const timer = (delayMs: number, fire: () => void): Timer => {
    const entry = { atMs: nowMs + Math.max(0, delayMs), order: order++, fire };
    pending.add(entry);
    return { cancel: () => pending.delete(entry) };
  };
  const next = (untilMs: number): Pending | undefined => {
    let first: Pending | undefined;
    for (const entry of pending) {
      if (entry.atMs > untilMs) continue;
      if (first === undefined || entry.atMs < first.atMs || (entry.atMs === first.atMs && entry.order < first.order)) {
        first = entry;
      }
    }
    return first;
  };
  return {
    now: () => EPOCH_MS + nowMs,
    monotonic: () => nowMs,
    timer,
    sleep: (delayMs, signal) => sleepOn(timer, delayMs, signal),
    pendingTimers: () => pending.size,
    advance: async (ms) => {
      const untilMs = nowMs + ms;
      await nextTurn();
      for (let entry = next(untilMs); entry !== undefined; entry = next(untilMs)) {
        pending.delete(entry);
        nowMs = Math.max(nowMs, entry.atMs);
        entry.fire();
        await nextTurn();
      }
      nowMs = untilMs;
    },
  };
}
