import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HEARTBEAT_SUBJECT } from '@holdfast/bus';
import { createLocalBus } from '@holdfast/bus/local';
import { BUS_PARTY, type ChannelWay, createSimulatedBus } from './bus.ts';
import { SimulatedProcess } from './component.ts';
import { SimulationKernel } from './kernel.ts';
import { SimulatedNetwork } from './network.ts';

/** Returns the arrival times of the messages of two senders, and their order at one time. */
async function arrivals(quietSender: boolean): Promise<readonly string[]> {
  const kernel = new SimulationKernel(7);
  const network = new SimulatedNetwork(kernel);
  const seen: string[] = [];
  for (let i = 0; i < 20; i++) {
    if (!quietSender) network.send({ from: 'noisy', to: 'x', label: 'noise', deliver: () => {} });
    network.send({ from: 'a', to: 'x', label: 'm', deliver: () => seen.push(`${i} at ${kernel.elapsedMs}`) });
    kernel.schedule({ delayMs: 5, label: 'same time', owner: 'a', fire: () => seen.push(`tie ${i}`) });
    if (!quietSender) kernel.schedule({ delayMs: 5, label: 'same time', owner: 'noisy', fire: () => {} });
  }
  await kernel.runFor(100);
  return seen;
}

test('latencies and tie-breaks of one party are unchanged when another party sends nothing', async () => {
  assert.deepEqual(await arrivals(true), await arrivals(false));
});

test('a heartbeat of the bus reaches all subscriptions of a party in one datagram, each change arrives in its own', async () => {
  const kernel = new SimulationKernel(1);
  const network = new SimulatedNetwork(kernel);
  const hub = createLocalBus();
  const fail = (error: unknown): void => kernel.fail(error);
  const bus = createSimulatedBus({ network, party: 'p', hub, alive: () => true, onError: fail });
  let received = 0;
  for (let i = 0; i < 3; i++)
    await bus.subscribe(['test.dev.things', HEARTBEAT_SUBJECT], { onMessage: () => void received++ });
  for (const subject of [HEARTBEAT_SUBJECT, 'test.dev.things']) {
    const before = kernel.steps;
    received = 0;
    await hub.publish([{ subject, revision: 1, previous: 0, data: '' }]);
    await kernel.runFor(10);
    assert.equal(received, 3);
    assert.equal(kernel.steps - before, subject === HEARTBEAT_SUBJECT ? 1 : 3, `datagrams from ${BUS_PARTY}`);
  }
});

test('one subject comes late or not at all, and the others of the party as before', async () => {
  const kernel = new SimulationKernel(1);
  const network = new SimulatedNetwork(kernel);
  const hub = createLocalBus();
  let way: ChannelWay | undefined;
  const wayOf = (subject: string): ChannelWay | undefined => (subject === 'test.dev.slow' ? way : undefined);
  const fail = (error: unknown): void => kernel.fail(error);
  const bus = createSimulatedBus({ network, party: 'p', hub, alive: () => true, onError: fail, wayOf });
  const seen: string[] = [];
  for (const subject of ['test.dev.slow', 'test.dev.other'])
    await bus.subscribe([subject], { onMessage: ({ revision }) => void seen.push(`${subject} ${revision}`) });
  const send = async (revision: number): Promise<void> => {
    await hub.publish(
      ['test.dev.slow', 'test.dev.other'].map((subject) => ({ subject, revision, previous: 0, data: '' })),
    );
    await kernel.runFor(100);
  };
  way = { lateMs: 500 };
  await send(1);
  assert.deepEqual(seen, ['test.dev.other 1']);
  await kernel.runFor(500);
  assert.deepEqual(seen, ['test.dev.other 1', 'test.dev.slow 1']);
  way = { isLost: true };
  await send(2);
  await kernel.runFor(10_000);
  assert.deepEqual(seen.slice(2), ['test.dev.other 2']);
});

test('a slow clock shows less time, and its timers fire later and never before their own time', async () => {
  const kernel = new SimulationKernel(1);
  const process = new SimulatedProcess(kernel, 'p');
  const { clock } = process.boot();
  await kernel.runFor(1_000);
  process.setClockRate(0.995);
  const atMs = clock.monotonic();
  const fired: number[] = [];
  for (const delayMs of [1, 333.3, 10_000])
    clock.timer(delayMs, () => void fired.push(clock.monotonic() - atMs - delayMs));
  await kernel.runFor(10_000);
  assert.equal(fired.length, 2, 'ten seconds of it are more than ten seconds');
  await kernel.runFor(1_000);
  assert.deepEqual(
    fired.map((late) => late >= 0 && late < 0.01),
    [true, true, true],
  );
  process.setClockRate(1);
  const [mono, wall] = [clock.monotonic(), clock.now()];
  await kernel.runFor(1_000);
  assert.deepEqual([clock.monotonic() - mono, Math.round(clock.now() - wall)], [1_000, 1_000]);
});

test('a timer that runs when its clock becomes slow fires at its time on that clock', async () => {
  const kernel = new SimulationKernel(1);
  const process = new SimulatedProcess(kernel, 'p');
  const { clock } = process.boot();
  let firedAtMs = 0;
  clock.timer(10_000, () => void (firedAtMs = clock.monotonic()));
  await kernel.runFor(1_000);
  process.setClockRate(0.9);
  await kernel.runFor(9_900);
  assert.ok(firedAtMs === 0, 'ten seconds have not passed for it');
  await kernel.runFor(200);
  assert.ok(firedAtMs >= 10_000 && firedAtMs < 10_001, `it fired at ${firedAtMs}`);
});
