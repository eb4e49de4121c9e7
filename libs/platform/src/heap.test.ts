import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';

/** Makes garbage that lives for a while, in many turns of the event loop, and prints the size of the young generation. */
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

test('the young generation stays near its limit, and grows without one', () => {
  const [limited, free] = [youngMb('limited'), youngMb('free')];
  assert.ok(limited >= 2 && limited <= 8, `${limited} MB under a limit of twice 2 MB`);
  assert.ok(free > limited, `${free} MB without a limit`);
});
