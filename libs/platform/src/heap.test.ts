import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';

/**
 * Makes garbage that survives for a while, in many turns of the event loop, and prints the size of the young
 * generation.
 */
const PROGRAM = `
  import { getHeapSpaceStatistics } from 'node:v8';
  import { limitHeap } from '${new URL('./heap.ts', import.meta.url).href}';
  if (process.argv[1] === 'limited') limitHeap(2, 1);
  const kept = [];
  for (let turn = 0; turn < 200; turn++) {
    for (let i = 0; i < 5_000; i++) kept[(turn * 5_000 + i) % 200_000] = { turn, list: [i] };
    await new Promise((resolve) => setImmediate(resolve));
  }
  console.log(getHeapSpaceStatistics().find((space) => space.space_name === 'new_space').space_size / 2 ** 20);
`;

const youngMb = (how: string): number =>
  Number(
    execFileSync(process.execPath, ['--no-warnings', '--input-type=module', '-e', PROGRAM, how], { timeout: 60_000 }),
  );

/** The median of five runs: V8 may collect and double twice before it reports the first collection. */
const middle = (how: string): number => {
  const sizes = Array.from({ length: 5 }, () => youngMb(how)).sort((a, b) => a - b);
  return sizes[2] ?? 0;
};

test('the young generation stays near its limit, and grows far beyond it without one', () => {
  const [limited, free] = [middle('limited'), middle('free')];
  assert.ok(limited >= 2 && limited <= 16, `${limited} MB under a limit of twice 2 MB`);
  assert.ok(free >= 2 * limited, `${free} MB without a limit`);
});
