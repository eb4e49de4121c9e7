import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiHandler, ApiRequest, ApiTransport, WatchFrame } from '@holdfast/client';
import { SimulatedProcess } from './component.ts';
import { SimulationKernel } from './kernel.ts';
import { SimulatedNetwork } from './network.ts';
import { createSimulatedTransport } from './transport.ts';

interface World {
  readonly kernel: SimulationKernel;
  readonly network: SimulatedNetwork;
  readonly transport: ApiTransport;
  server: ApiHandler | undefined;
}

function world(): World {
  const kernel = new SimulationKernel(3);
  const network = new SimulatedNetwork(kernel);
  for (const party of ['client', 'server']) network.join(party);
  const { clock } = new SimulatedProcess(kernel, 'client').boot();
  const made: World = {
    kernel,
    network,
    server: answerOk,
    transport: createSimulatedTransport({
      kernel,
      network,
      from: 'client',
      to: 'server',
      clock,
      server: () => made.server,
      requestTimeoutMs: 5000,
      watchIdleTimeoutMs: 30_000,
    }),
  };
  return made;
}

const answerOk: ApiHandler = () =>
  Promise.resolve({ status: 200, headers: {}, body: { kind: 'text', contentType: 'text/plain', text: 'ok' } });
const get = (signal?: AbortSignal): ApiRequest => ({
  method: 'GET',
  path: '/x',
  query: new URLSearchParams(),
  headers: {},
  ...(signal === undefined ? {} : { signal }),
});

/** Exposes the current outcome of a promise that settles during the run. */
function outcome<T>(promise: Promise<T>): { value: () => T | undefined; error: () => string | undefined } {
  let value: T | undefined;
  let error: string | undefined;
  promise.then(
    (settled) => {
      value = settled;
    },
    (thrown: Error) => {
      error = thrown.message;
    },
  );
  return { value: () => value, error: () => error };
}

test('a call is answered over the network after the latency', async () => {
  const { kernel, transport } = world();
  const result = outcome(transport.request(get()));
  await kernel.runFor(10);
  assert.equal(result.value()?.status, 200);
});

test('a network cut is detected at the deadline, not before; the request may have been served', async () => {
  const made = world();
  let served = 0;
  made.server = (request) => {
    served++;
    return answerOk(request);
  };
  made.network.block('server', 'client');
  const result = outcome(made.transport.request(get()));
  await made.kernel.runFor(4999);
  assert.equal(result.error(), undefined);
  await made.kernel.runFor(2);
  assert.match(result.error() ?? '', /no answer .* within 5000 ms/);
  assert.equal(served, 1);
});

test('a server that is down refuses the call', async () => {
  const made = world();
  made.server = undefined;
  const result = outcome(made.transport.request(get()));
  await made.kernel.runFor(10);
  assert.match(result.error() ?? '', /refused/);
});

test('a watch is ordered, and half-open after a loss: the reader detects it by a timeout', async () => {
  const made = world();
  const { clock } = new SimulatedProcess(made.kernel, 'server').boot();
  made.server = () =>
    Promise.resolve({ status: 200, headers: {}, body: { kind: 'watch', frames: ticks(clock.sleep.bind(clock)) } });
  const seen: number[] = [];
  const reader = async (): Promise<void> => {
    const response = await made.transport.request(get());
    assert.equal(response.body.kind, 'watch');
    if (response.body.kind !== 'watch') return;
    for await (const frame of response.body.frames) seen.push(frame.value().object as number);
  };
  const result = outcome(reader());
  await made.kernel.runFor(3500);
  assert.deepEqual(seen, [0, 1, 2]);
  made.network.block('server', 'client');
  await made.kernel.runFor(2000);
  made.network.unblock('server', 'client');
  await made.kernel.runFor(20_000);
  assert.deepEqual(seen, [0, 1, 2], 'nothing may arrive after a gap');
  await made.kernel.runFor(20_000);
  assert.match(result.error() ?? '', /silent for 30000 ms/);
});

async function* ticks(sleep: (ms: number) => Promise<void>): AsyncGenerator<WatchFrame> {
  for (let i = 0; ; i++) {
    await sleep(1000);
    yield { bytes: () => new Uint8Array(), value: () => ({ type: 'ADDED', object: i }) };
  }
}

test('frames of a watch never overtake each other, in any number', async () => {
  const made = world();
  made.server = () => Promise.resolve({ status: 200, headers: {}, body: { kind: 'watch', frames: burst(200) } });
  const seen: number[] = [];
  const reader = async (): Promise<void> => {
    const response = await made.transport.request(get());
    if (response.body.kind !== 'watch') return;
    for await (const frame of response.body.frames) seen.push(frame.value().object as number);
  };
  outcome(reader());
  await made.kernel.runFor(1000);
  assert.deepEqual(
    seen,
    Array.from({ length: 200 }, (_, i) => i),
  );
});

async function* burst(count: number): AsyncGenerator<WatchFrame> {
  for (let i = 0; i < count; i++) yield { bytes: () => new Uint8Array(), value: () => ({ type: 'ADDED', object: i }) };
}
