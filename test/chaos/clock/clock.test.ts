import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { ensureCompiler } from '../../../tools/setup/packages.ts';
import { buildClockLibrary, createClockFile, moveWallClock, setRight, slowClocks } from './clock-file.ts';
import type { Reading } from './testing/read-clocks-main.ts';

ensureCompiler();
const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-clock-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const file = path.join(folder, 'now');
const LD_PRELOAD = buildClockLibrary(folder, file);
const READER = path.resolve(import.meta.dirname, 'testing/read-clocks-main.ts');

/** Long enough to tell rates by clocks that go in steps of 10 ms. */
const SPAN_MS = 500;

/** A process that reads its clocks, those of the machine among them. */
async function startReader() {
  createClockFile(file);
  const child = fork(READER, { env: { LD_PRELOAD } });
  const read = async (afterMs: number): Promise<Reading> => {
    child.send(afterMs);
    const [reading] = await once(child, 'message');
    return reading as Reading;
  };
  return { read, [Symbol.dispose]: () => void child.kill() };
}

/** How fast each clock goes, beside that of the machine. */
function ratesOf(from: Reading, to: Reading) {
  const passed = to.machineMs - from.machineMs;
  const rate = (name: 'monotonicMs' | 'wallMs' | 'upMs'): number =>
    Math.round(((to[name] - from[name]) / passed) * 10) / 10;
  return { monotonic: rate('monotonicMs'), wall: rate('wallMs'), up: rate('upMs') };
}

const same = (rate: number) => ({ monotonic: rate, wall: rate, up: rate });

test('all clocks of a process run slow from one moment to another, and none goes back', async () => {
  using reader = await startReader();
  const begin = await reader.read(0);
  const right = await reader.read(SPAN_MS);
  slowClocks(file, 500);
  const slow = await reader.read(0);
  const slower = await reader.read(SPAN_MS);
  slowClocks(file, 0);
  const over = await reader.read(0);
  const end = await reader.read(SPAN_MS);
  assert.deepEqual([ratesOf(begin, right), ratesOf(slow, slower), ratesOf(over, end)], [same(1), same(0.5), same(1)]);
  assert.ok(
    end.monotonicMs - begin.monotonicMs < end.machineMs - begin.machineMs - SPAN_MS / 3,
    'what is lost stays so',
  );
  assert.equal(end.wentBack, 0);
});

test('a wall clock jumps alone, and is set right whatever the clocks have lost', async () => {
  using reader = await startReader();
  const begin = await reader.read(0);
  moveWallClock(file, -90_000);
  const jumped = await reader.read(0);
  slowClocks(file, 500);
  await reader.read(SPAN_MS);
  setRight(file);
  const right = await reader.read(0);
  const aheadMs = ({ wallMs, machineMs }: Reading): number => wallMs - machineMs;
  const near = (ms: number, wanted: number) => assert.ok(Math.abs(ms - wanted) < 100, `${ms} ms`);
  near(aheadMs(jumped) - aheadMs(begin), -90_000);
  near(jumped.monotonicMs - begin.monotonicMs, jumped.machineMs - begin.machineMs);
  near(aheadMs(right) - aheadMs(begin), 0);
});
