import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BusMessage } from '@holdfast/bus';
import { createLocalBus } from '@holdfast/bus/local';
import { type ApiRequest, type ApiTransport, TransportError, type WatchFrame } from '@holdfast/client';
import { nextTurn } from '@holdfast/platform';
import { createVirtualClock } from '@holdfast/platform/testing';
import type { Trouble } from './gate.ts';
import { gatedBus, gatedClock } from './gated-machine.ts';
import { gatedHandler, gatedTransport } from './gated-transport.ts';
import { LOST_AFTER_MS, SILENT_WATCH_MS } from './limits.ts';
import { makeLife } from './testing.ts';

const REQUEST: ApiRequest = { method: 'GET', path: '/api', query: new URLSearchParams(), headers: {} };
const ANSWER = { status: 200, headers: {}, body: { kind: 'empty' } } as const;

function makeWire(inner: Partial<ApiTransport> = {}) {
  const clock = createVirtualClock();
  const made = makeLife();
  const arrived: string[] = [];
  const transport = gatedTransport(
    {
      request: (request) => {
        arrived.push(request.path);
        return Promise.resolve(ANSWER);
      },
      close: () => Promise.resolve(),
      ...inner,
    },
    { ...made.life, clock },
  );
  return { ...made, clock, arrived, transport };
}

/** Lets everything happen that needs no time. */
async function settle(): Promise<void> {
  for (let i = 0; i < 20; i++) await nextTurn();
}

for (const [trouble, arrives] of [
  [{ toApi: true }, 0],
  [{ fromApi: true }, 1],
  [{ loss: 1 }, 0],
] as const satisfies readonly (readonly [Trouble, number])[]) {
  test(`${JSON.stringify(trouble)}: a deadline tells, the server got ${arrives} requests`, async () => {
    const { transport, gate, clock, arrived } = makeWire();
    const end = gate.begin(trouble);
    const asked = transport.request(REQUEST);
    const refused = assert.rejects(asked, (error) => error instanceof TransportError && error.possiblySent);
    await settle();
    assert.equal(arrived.length, arrives);
    clock.skip(LOST_AFTER_MS);
    await refused;
    end();
    assert.equal((await transport.request(REQUEST)).status, 200);
  });
}

test('a delay passes before a request arrives, and before its answer does', async () => {
  const { transport, gate, clock, arrived } = makeWire();
  gate.begin({ delayMs: 1000 });
  const asked = transport.request(REQUEST);
  await settle();
  assert.equal(arrived.length, 0);
  clock.skip(1000);
  await settle();
  assert.equal(arrived.length, 1);
  clock.skip(1000);
  assert.equal((await asked).status, 200);
});

test('a stopped process sends nothing, and what it waited for comes when it continues', async () => {
  const { transport, gate, life, clock, arrived } = makeWire();
  const fired: string[] = [];
  gatedClock(clock, life).timer(10, () => void fired.push('timer'));
  const end = gate.begin({ held: true });
  const second = gate.begin({ held: true });
  const asked = transport.request(REQUEST);
  clock.skip(10);
  await settle();
  end();
  await settle();
  assert.deepEqual([arrived, fired], [[], []], 'held by the second one');
  second();
  await asked;
  assert.deepEqual([arrived, fired], [['/api'], ['timer']]);
});

test('a killed process gets nothing, and its timers fire, so that its remains end', async () => {
  const { transport, kill, life, clock } = makeWire({ request: () => new Promise(() => {}) });
  let isFired = false;
  gatedClock(clock, life).timer(10, () => {
    isFired = true;
  });
  life.gate.begin({ held: true });
  kill.abort();
  clock.skip(10);
  assert.ok(isFired);
  life.gate.begin({ toApi: true });
  await assert.rejects(makeKilled().request(REQUEST), TransportError);
  void transport;
});

function makeKilled(): ApiTransport {
  const { transport, kill } = makeWire();
  kill.abort();
  return transport;
}

test('after a lost frame a watch is silent until its deadline, whatever comes', async () => {
  const frame = (n: number): WatchFrame => ({
    bytes: () => Buffer.from(''),
    value: () => ({ type: 'ADDED', object: n }),
  });
  const sent = Promise.withResolvers<void>();
  async function* frames(): AsyncGenerator<WatchFrame> {
    yield frame(1);
    await sent.promise;
    yield frame(2);
    yield frame(3);
  }
  const { transport, gate, clock } = makeWire({
    request: () => Promise.resolve({ ...ANSWER, body: { kind: 'watch', frames: frames() } }),
  });
  const { body } = await transport.request(REQUEST);
  assert.ok(body.kind === 'watch');
  const watch = body.frames[Symbol.asyncIterator]();
  assert.equal((await watch.next()).value?.value().object, 1);
  const end = gate.begin({ fromApi: true });
  const next = assert.rejects(watch.next(), TransportError);
  sent.resolve();
  await settle();
  clock.skip(SILENT_WATCH_MS);
  await next;
  end();
});

test('what was lost breaks when the wire is whole, before its deadline', async () => {
  const { transport, gate, clock } = makeWire();
  const ends = [gate.begin({ toApi: true }), gate.begin({ fromApi: true })];
  let isBroken = false;
  const broken = assert.rejects(transport.request(REQUEST), TransportError).then(() => {
    isBroken = true;
  });
  await settle();
  ends[0]?.();
  await settle();
  assert.equal(isBroken, false);
  ends[1]?.();
  await broken;
  await settle();
  assert.equal(clock.pendingTimers(), 0, 'no deadline is left');
});

test('the bus is not heard while it is cut or its listener is dead, and later while it is stopped', async () => {
  const bus = createLocalBus();
  const { gate, life, kill } = makeLife();
  const heard: (number | string)[] = [];
  await gatedBus(bus, life).subscribe('a.>', {
    onMessage: ({ revision }) => void heard.push(revision),
    onInterruption: () => void heard.push('interrupted'),
  });
  const say = (revision: number): Promise<void> =>
    bus.publish([{ subject: 'a.b', revision, previous: undefined, data: '{}' } satisfies BusMessage]);
  await say(1);
  const endCut = gate.begin({ bus: true });
  await say(2);
  endCut();
  const endHold = gate.begin({ held: true });
  await say(3);
  assert.deepEqual(heard, [1, 'interrupted']);
  endHold();
  await say(4);
  kill.abort();
  await say(5);
  assert.deepEqual(heard, [1, 'interrupted', 3, 4]);
});

test('the API server does not reach a kubelet behind a cut wire', async () => {
  const clock = createVirtualClock();
  const { gate, life } = makeLife();
  const handle = gatedHandler(() => Promise.resolve(ANSWER), { ...life, clock });
  assert.equal((await handle(REQUEST)).status, 200);
  gate.begin({ fromApi: true });
  const asked = assert.rejects(handle(REQUEST), /did not answer/);
  await settle();
  clock.skip(LOST_AFTER_MS);
  await asked;
});
