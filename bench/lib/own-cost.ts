import { getHeapStatistics } from 'node:v8';

const ROUNDS = 10_000;
const TRIES = 5;
const THING = JSON.stringify(
  Array.from({ length: 8 }, (_, i) => ({ name: `thing-${i}`, labels: { app: 'web', zone: `z${i}` }, at: [i, i + 1] })),
);

/**
 * CPU time of a thousand fixed pieces of work, similar to requests: it shows the current speed of the machine, so that
 * figures of different times and machines are comparable. Other guests of a machine use its caches, not only its cores.
 */
export function calibrationUs(): number {
  let best = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < TRIES; attempt++) {
    const before = process.cpuUsage();
    let length = 0;
    for (let i = 0; i < ROUNDS; i++) length += JSON.stringify({ things: JSON.parse(THING), i }).length;
    const { user, system } = process.cpuUsage(before);
    if (length > 0) best = Math.min(best, user + system);
  }
  return best / (ROUNDS / 1_000);
}

export interface AllocatedBytes {
  /** After every step of the work, which was so many operations. */
  readonly step: (operations: number) => void;
  /** Heap allocation of each operation of a step; steps with a garbage collection are omitted. */
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
