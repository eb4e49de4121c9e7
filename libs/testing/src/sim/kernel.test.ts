import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BinaryHeap } from '@holdfast/platform';
import { clockContract, randomContract } from '@holdfast/platform/contract';
import { SimulatedProcess } from './component.ts';
import { SIMULATION_EPOCH_MS, SimulationFailure, SimulationKernel } from './kernel.ts';
import { isEarlier, type SimEvent } from './sim-event.ts';

clockContract('simulated clock', () => {
  const kernel = new SimulationKernel(1);
  return { clock: new SimulatedProcess(kernel, 'a').boot().clock, advance: (ms) => kernel.runFor(ms) };
});
randomContract('random of a simulated machine', () => new SimulatedProcess(new SimulationKernel(1), 'a').boot().random);

test('virtual time passes only with events, and sleeping costs no real time', async () => {
  const kernel = new SimulationKernel(1);
  const { clock } = new SimulatedProcess(kernel, 'a').boot();
  const woke: number[] = [];
  const sleeper = async (): Promise<void> => {
    for (let i = 0; i < 3; i++) {
      await clock.sleep(3_600_000);
      woke.push(clock.now() - SIMULATION_EPOCH_MS);
    }
  };
  const done = sleeper();
  await kernel.runFor(4 * 3_600_000);
  await done;
  assert.deepEqual(woke, [3_600_000, 7_200_000, 10_800_000]);
  assert.equal(kernel.elapsedMs, 4 * 3_600_000);
});

test('promises settle completely between two events, however deep they nest', async () => {
  const kernel = new SimulationKernel(1);
  const order: string[] = [];
  const deep = async (depth: number): Promise<void> => {
    if (depth > 0) await deep(depth - 1);
    else await Promise.resolve();
  };
  kernel.schedule({ delayMs: 1, label: 'first', fire: () => void deep(200).then(() => order.push('settled')) });
  kernel.schedule({ delayMs: 1.001, label: 'second', fire: () => order.push('second') });
  await kernel.runFor(10);
  assert.deepEqual(order, ['settled', 'second']);
});

test('equal seeds give equal traces, different seeds different ones', async () => {
  const run = async (seed: number): Promise<string> => {
    const kernel = new SimulationKernel(seed);
    const machines = ['a', 'b', 'c'].map((name) => new SimulatedProcess(kernel, name).boot());
    for (const { clock, random, name } of machines) {
      const loop = async (): Promise<void> => {
        for (let i = 0; i < 50; i++) {
          await clock.sleep(random.int(10));
          kernel.record(`${name} ${random.float()}`);
        }
      };
      loop().catch((error: unknown) => kernel.fail(error));
    }
    await kernel.runFor(1000);
    return kernel.traceHash();
  };
  assert.equal(await run(7), await run(7));
  assert.notEqual(await run(7), await run(8));
});

test('timers of a crashed incarnation never fire; the next incarnation has its own', async () => {
  const kernel = new SimulationKernel(1);
  const process = new SimulatedProcess(kernel, 'a');
  const fired: string[] = [];
  const first = process.boot();
  first.clock.timer(10, () => fired.push('first'));
  process.crash();
  process.boot().clock.timer(10, () => fired.push('second'));
  await kernel.runFor(20);
  assert.deepEqual(fired, ['second']);
  assert.equal(first.alive(), false);
});

test('a violated oracle ends the run with its trace, its seed and the time', async () => {
  const kernel = new SimulationKernel(42);
  let broken = false;
  kernel.addOracle({ name: 'nothing breaks', check: () => (broken ? 'it broke' : undefined) });
  kernel.schedule({ delayMs: 1500, label: 'break', fire: () => (broken = true) });
  await assert.rejects(kernel.runFor(10_000), (error: unknown) => {
    assert.ok(error instanceof SimulationFailure);
    assert.equal(error.message, '[seed 42] nothing breaks violated at 1.500 s: it broke');
    return true;
  });
});

test('a condition that never holds is a liveness failure with a deadline in virtual time', async () => {
  const kernel = new SimulationKernel(1);
  await assert.rejects(
    kernel.runUntil('the moon rises', () => false, 60_000),
    /liveness violated .* the moon rises did not happen within 60 s/,
  );
});

test('the heap returns events by time, then tie-break, then sequence', () => {
  const heap = new BinaryHeap<SimEvent>(isEarlier);
  const event = (atTicks: number, tieBreak: number, sequence: number) =>
    heap.push({ atTicks, tieBreak, sequence, label: '', fire: () => {}, wanted: () => true });
  for (let i = 0; i < 500; i++) event((i * 7919) % 97, (i * 31) % 5, i);
  let last = [-1, -1, -1];
  for (let next = heap.pop(); next !== undefined; next = heap.pop()) {
    const current = [next.atTicks, next.tieBreak, next.sequence];
    const firstDifference = current.findIndex((value, i) => value !== last[i]);
    assert.ok((current[firstDifference] ?? 0) > (last[firstDifference] ?? 0), `${current.join()} after ${last.join()}`);
    last = current;
  }
  assert.equal(heap.size, 0);
});

/** The times of the events of a process that is paused at some times, for some milliseconds each. */
async function pausedRun(pauses: readonly (readonly [atMs: number, ms: number])[]): Promise<readonly string[]> {
  const kernel = new SimulationKernel(1);
  const fired: string[] = [];
  for (const [delayMs, ms] of pauses) kernel.schedule({ delayMs, label: 'pause', fire: () => kernel.pause('a', ms) });
  for (const delayMs of [15, 35, 25, 45])
    kernel.schedule({
      delayMs,
      label: 'event',
      at: 'a',
      fire: () => fired.push(`${delayMs} at ${Math.round(kernel.elapsedMs)}`),
    });
  await kernel.runFor(200);
  return fired;
}

test('what happens to a paused process happens afterwards, in order, also when pauses overlap', async () => {
  assert.deepEqual(await pausedRun([[10, 20]]), ['15 at 30', '25 at 30', '35 at 35', '45 at 45']);
  assert.deepEqual(
    await pausedRun([
      [10, 20],
      [20, 80],
    ]),
    ['15 at 100', '25 at 100', '35 at 100', '45 at 100'],
  );
});

test('a short pause in a longer one does not end it', async () => {
  assert.deepEqual(
    await pausedRun([
      [10, 50],
      [20, 10],
    ]),
    ['15 at 60', '25 at 60', '35 at 60', '45 at 60'],
  );
});
