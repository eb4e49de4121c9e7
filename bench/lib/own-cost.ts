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
  /** After every step of the work, which was so many operations. */
  readonly step: (operations: number) => void;
  /** What each operation of a step took from the heap; steps that met a collection are left out. */
  readonly steps: () => readonly number[];
}

export function allocatedBytes(): AllocatedBytes {
  const each: number[] = [];
  let last = getHeapStatistics().used_heap_size;
  return {
    step: (operations) => {
      const now = getHeapStatistics().used_heap_size;
      if (now > last) each.push((now - last) / operations);
      last = now;
    },
    steps: () => each,
  };
}

export const middle = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;
