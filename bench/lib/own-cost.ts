import { getHeapStatistics } from 'node:v8';

const ROUNDS = 200_000;
const TRIES = 5;

/**
 * CPU time of a piece of work that never changes: tells how fast the machine is just now, so that figures of different minutes and
 * machines can be compared.
 */
export function calibrationUs(): number {
  let best = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < TRIES; attempt++) {
    const before = process.cpuUsage();
    spin();
    const { user, system } = process.cpuUsage(before);
    best = Math.min(best, user + system);
  }
  return best;
}

function spin(): number {
  let state = 1;
  const seen = new Map<number, number>();
  for (let i = 0; i < ROUNDS; i++) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    seen.set(state & 0x3ff, i);
  }
  return seen.size;
}

export interface AllocatedBytes {
  /** After every step of the work. */
  readonly step: () => void;
  /** What one of the operations of a step takes from the heap: of the steps' median, because some are met by a collection. */
  readonly each: (operationsOfStep: number) => number;
}

export function allocatedBytes(): AllocatedBytes {
  const steps: number[] = [];
  let last = getHeapStatistics().used_heap_size;
  return {
    step: () => {
      const now = getHeapStatistics().used_heap_size;
      if (now > last) steps.push(now - last);
      last = now;
    },
    each: (operations) => (steps.toSorted((a, b) => a - b)[steps.length >> 1] ?? 0) / operations,
  };
}
