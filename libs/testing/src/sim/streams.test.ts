import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HEARTBEAT_SUBJECT } from '@holdfast/bus';
import { createLocalBus } from '@holdfast/bus/local';
import { BUS_PARTY, createSimulatedBus } from './bus.ts';
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
