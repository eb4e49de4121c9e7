import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Bus, type BusMessage, resourcePattern } from '@holdfast/bus';
import { busContract, collect, eventually, message, publishAll } from '@holdfast/bus/contract';
import { createNatsBus, type NatsBusOptions } from '@holdfast/bus/nats';
import { createSilentLog, createSystemClock } from '@holdfast/platform';
import { connect, headers } from 'nats';
import { type NatsServer, startNatsServer } from '../support/nats-server.ts';

const THINGS = resourcePattern('test.dev', 'things');

function connectTo(server: NatsServer, options: Partial<NatsBusOptions> = {}): Bus & AsyncDisposable {
  const bus = createNatsBus({
    servers: [server.url],
    role: 'publisher',
    clock: createSystemClock(),
    log: createSilentLog(),
    incarnation: 'one',
    ...options,
  });
  return Object.assign(bus, { [Symbol.asyncDispose]: () => bus.close() });
}

const SERVERS = [
  ['nats', {}],
  ['nats with a replicated log', { syncsAlways: true }],
] as const;

for (const [name, options] of SERVERS) {
  busContract(name, async () => {
    const server = await startNatsServer(options);
    const bus = connectTo(server);
    const other = connectTo(server, { role: 'consumer' });
    await bus.retained?.position();
    return {
      bus,
      other,
      interrupt: () => server.restart(),
      [Symbol.asyncDispose]: async () => {
        await bus.close();
        await other.close();
        await server[Symbol.asyncDispose]();
      },
    };
  });
}

/** Publishes until it is stored, whatever happens to the server in between; as the relay does, from where the server is. */
async function persist(bus: Bus, revision: number): Promise<void> {
  await eventually(async () => {
    const last = (await bus.retained?.position().catch(() => undefined))?.last ?? revision - 1;
    if (last >= revision) return true;
    await bus.publish([message(last + 1)]).catch(() => undefined);
    return false;
  }, `revision ${revision} is stored`);
}

for (const [name, options] of SERVERS) {
  test(`[TEST-10] ${name}: server killed and restarted: subscribers get every message once, in order`, async () => {
    await using server = await startNatsServer(options);
    await using publisher = connectTo(server);
    await using consumer = connectTo(server, { role: 'consumer' });
    await publisher.retained?.position();
    const seen = await collect(consumer, THINGS, { after: 0 });
    for (let revision = 1; revision <= 30; revision++) {
      if (revision % 10 === 5) await server.restart();
      await persist(publisher, revision);
    }
    await eventually(() => seen.received.length >= 30, 'everything arrives');
    assert.deepEqual(
      seen.revisions(),
      Array.from({ length: 30 }, (_, i) => i + 1),
    );
  });
}

/** The mode in which the server keeps the stream of changes. */
async function modeOf(server: NatsServer): Promise<unknown> {
  const raw = await connect({ servers: server.url });
  const reply = await raw.request('$JS.API.STREAM.INFO.K8S_EV', '');
  await raw.close();
  return JSON.parse(reply.string()).config.persist_mode;
}

test('changes on the bus are not synced one by one where the server syncs for the log', async () => {
  await using server = await startNatsServer({ syncsAlways: true });
  await using publisher = connectTo(server);
  await publisher.retained?.position();
  assert.equal(await modeOf(server), 'async');
  await publisher.retained?.restartAfter(5);
  await persist(publisher, 6);
  assert.equal(await modeOf(server), 'async');
});

test('a stream of changes that is synced one by one keeps its mode, and takes changes', async () => {
  await using server = await startNatsServer({ syncsAlways: true });
  await using publisher = connectTo(server);
  await publisher.retained?.position();
  const raw = await connect({ servers: server.url });
  const info = JSON.parse((await raw.request('$JS.API.STREAM.INFO.K8S_EV', '')).string());
  await raw.request('$JS.API.STREAM.DELETE.K8S_EV', '');
  const { persist_mode: _, ...synced } = info.config;
  await raw.request('$JS.API.STREAM.CREATE.K8S_EV', JSON.stringify(synced));
  await raw.close();
  await using later = connectTo(server);
  await persist(later, 1);
  assert.equal(await modeOf(server), undefined);
});

test('[TEST-10] a paused and resumed server loses nothing', async () => {
  await using server = await startNatsServer();
  await using publisher = connectTo(server);
  await using consumer = connectTo(server, { role: 'consumer' });
  await publisher.retained?.position();
  const seen = await collect(consumer, THINGS, { after: 0 });
  await persist(publisher, 1);
  server.pause();
  const pending = publisher.publish([message(2)]).catch(() => undefined);
  server.resume();
  await pending;
  await persist(publisher, 2);
  await persist(publisher, 3);
  await eventually(() => seen.received.length >= 3, 'everything arrives');
  assert.deepEqual(seen.revisions(), [1, 2, 3]);
});

test('[TEST-10] a stream that lost all messages interrupts its subscribers', async () => {
  await using server = await startNatsServer();
  await using publisher = connectTo(server);
  await using consumer = connectTo(server, { role: 'consumer' });
  await publisher.retained?.position();
  let interruptions = 0;
  const seen = await collect(consumer, THINGS, { after: 0, onInterruption: () => (interruptions += 1) });
  await publishAll(publisher, [message(1), message(2), message(3)]);
  await eventually(() => seen.received.length === 3, 'three arrive');
  await server.wipe();
  await server.start();
  await eventually(
    async () => (await publisher.retained?.position().catch(() => undefined))?.last === 0,
    'the stream exists again, empty',
  );
  await publisher.retained?.restartAfter(3);
  await eventually(() => interruptions > 0, 'the subscriber is interrupted');
  await persist(publisher, 4);
  await eventually(() => seen.revisions().includes(4), 'the subscription goes on');
  assert.deepEqual(seen.revisions(), [1, 2, 3, 4]);
});

test('a change too large for the server is published without its object, and the next one follows', async () => {
  await using server = await startNatsServer({ maxPayloadBytes: 64 * 1024 });
  await using bus = connectTo(server);
  const seen = await collect(bus, THINGS, { after: 0 });
  const large = { ...message(2), data: JSON.stringify('x'.repeat(100_000)), brief: '"brief"' };
  await bus.publish([message(1), large, message(3)]);
  await eventually(() => seen.received.length === 3, 'all arrive');
  assert.deepEqual(
    seen.received.map(({ data }) => data),
    [message(1).data, '"brief"', message(3).data],
  );
});

test('a publisher at the wrong position gets the position of the stream', async () => {
  await using server = await startNatsServer();
  await using publisher = connectTo(server);
  await publishAll(publisher, [message(1), message(2)]);
  await assert.rejects(publisher.publish([message(2)]), { name: 'OutOfPlace', last: 2 });
  await assert.rejects(publisher.publish([message(5)]), { name: 'OutOfPlace', last: 2 });
  await publisher.publish([message(3)]);
});

const stretch = (first: number, last: number): readonly BusMessage[] =>
  Array.from({ length: last - first + 1 }, (_, i) => message(first + i));

test('[TEST-10] the stream accepts a batch with a gap up to the gap, and reports it', async () => {
  await using server = await startNatsServer();
  await using bus = connectTo(server);
  await using consumer = connectTo(server, { role: 'consumer' });
  const seen = await collect(consumer, THINGS, { after: 0 });
  await bus.publish(stretch(1, 100));
  const broken = [...stretch(101, 140), ...stretch(142, 200)];
  await assert.rejects(bus.publish(broken), { name: 'OutOfPlace', last: 140 });
  await assert.rejects(bus.publish(stretch(150, 160)), { name: 'OutOfPlace', last: 140 });
  await bus.publish(stretch(141, 200));
  await eventually(() => seen.received.length === 200, 'all of them arrive');
  assert.deepEqual(seen.received, stretch(1, 200));
});

test('[TEST-10] a batch without an answer may be stored: the next attempt determines it', async () => {
  await using server = await startNatsServer();
  await using bus = connectTo(server);
  await bus.publish(stretch(1, 10));
  server.pause();
  const outcome = bus.publish(stretch(11, 60)).then(
    () => 'taken',
    (error: Error) => error.name,
  );
  await server.restart();
  assert.equal(await outcome, 'BusUnavailable');
  await eventually(async () => (await bus.retained?.position().catch(() => undefined)) !== undefined, 'it is back');
  const last = (await bus.retained?.position())?.last ?? 0;
  await bus.publish(stretch(last + 1, 60));
  await assert.rejects(bus.publish(stretch(11, 60)), { name: 'OutOfPlace', last: 60 });
  await using consumer = connectTo(server, { role: 'consumer' });
  const seen = await collect(consumer, THINGS, { after: 0 });
  await eventually(() => seen.received.length >= 60, 'everything is there');
  assert.deepEqual(seen.received, stretch(1, 60));
});

test('[TEST-10] a stream removed between batched changes is recreated empty', async () => {
  await using server = await startNatsServer();
  await using bus = connectTo(server);
  await bus.publish(stretch(1, 10));
  const admin = await connect({ servers: server.url });
  await admin.request('$JS.API.STREAM.DELETE.K8S_EV');
  await admin.close();
  await assert.rejects(bus.publish(stretch(11, 20)), { name: 'BusUnavailable' });
  assert.deepEqual(await bus.retained?.position(), { floor: 0, last: 0 });
  await assert.rejects(bus.publish(stretch(11, 20)), { name: 'OutOfPlace', last: 0 });
  await bus.publish(stretch(1, 20));
  assert.deepEqual(await bus.retained?.position(), { floor: 0, last: 20 });
});

test('[TEST-10] two publishers with racing batches leave each change once, whichever stored it', async () => {
  await using server = await startNatsServer();
  await using one = connectTo(server);
  await using other = connectTo(server);
  await one.retained?.position();
  for (let first = 1; first <= 400; first += 40) {
    const attempts = [one, other].map((bus) => bus.publish(stretch(first, first + 39)));
    const outcomes = await Promise.allSettled(attempts);
    assert.equal((await one.retained?.position())?.last, first + 39);
    assert.ok(outcomes.some(({ status }) => status === 'fulfilled'));
  }
  await using consumer = connectTo(server, { role: 'consumer' });
  const seen = await collect(consumer, THINGS, { after: 0 });
  await eventually(() => seen.received.length >= 400, 'everything is there');
  assert.deepEqual(seen.received, stretch(1, 400));
});

test('exactly one of two publishers racing for a revision wins', async () => {
  await using server = await startNatsServer();
  await using one = connectTo(server);
  await using other = connectTo(server);
  await one.retained?.position();
  for (let revision = 1; revision <= 50; revision++) {
    const outcomes = await Promise.allSettled([one.publish([message(revision)]), other.publish([message(revision)])]);
    assert.deepEqual(outcomes.map((each) => each.status).toSorted(), ['fulfilled', 'rejected']);
  }
  assert.equal((await one.retained?.position())?.last, 50);
});

test('a stream that continued at a later position accepts a change with one request, and two publishers still agree', async () => {
  await using server = await startNatsServer();
  await using one = connectTo(server);
  await using other = connectTo(server);
  let questions = 0;
  const spy = await connect({ servers: server.url });
  spy.subscribe('$JS.API.STREAM.INFO.>', { callback: () => void questions++ });
  await spy.flush();
  await one.retained?.restartAfter(25);
  await one.publish([message(26)]);
  await other.retained?.position();
  // The request reaches the spy on its own connection.
  await spy.flush();
  const before = questions;
  for (let revision = 27; revision <= 60; revision++) await one.publish([message(revision)]);
  await spy.flush();
  assert.equal(questions - before, 0, 'nobody had to ask where the stream stands');
  await other.publish([message(61)]);
  await other.retained?.restartAfter(100);
  // A round trip each: the notice has arrived then.
  for (const bus of [other, one]) await bus.retained?.position();
  await assert.rejects(one.publish([message(62)]), { name: 'OutOfPlace', last: 100 });
  await one.publish([message(101)]);
  await other.publish([message(102)]);
  await server.restart();
  await persist(one, 103);
  await spy.close();
  assert.equal((await one.retained?.position())?.last, 103);
});

test('[TEST-10] the stream of another store is deleted, not continued', async () => {
  await using server = await startNatsServer();
  {
    await using first = connectTo(server);
    await publishAll(first, [message(1), message(2)]);
  }
  await using again = connectTo(server);
  assert.deepEqual(await again.retained?.position(), { floor: 0, last: 2 });
  await using second = connectTo(server, { incarnation: 'two' });
  assert.deepEqual(await second.retained?.position(), { floor: 0, last: 0 });
});

test('without a server every call reports it, and works once there is one', async () => {
  const server = await startNatsServer();
  await using _ = server;
  await server.kill();
  await using publisher = connectTo(server);
  await using consumer = connectTo(server, { role: 'consumer' });
  await assert.rejects(publisher.publish([message(1)]), { name: 'BusUnavailable' });
  assert.match(publisher.health()[0] ?? '', /NATS/);
  const seen = await collect(consumer, THINGS, { after: 0 });
  await server.start();
  await persist(publisher, 1);
  await eventually(() => seen.received.length === 1, 'the subscription made without a server is served');
  assert.deepEqual(publisher.health(), []);
});

test('[TEST-10] changes at wrong positions after another publisher recreated the stream are dropped and reported', async () => {
  await using server = await startNatsServer();
  await using publisher = connectTo(server);
  await using consumer = connectTo(server, { role: 'consumer' });
  await publisher.retained?.restartAfter(100);
  await publishAll(publisher, [message(101), message(102)]);
  let interruptions = 0;
  const seen = await collect(consumer, THINGS, { after: 100, onInterruption: () => (interruptions += 1) });
  const another = await connect({ servers: server.url });
  // The next changes of the first publisher arrive before it hears of this.
  await another.request('$JS.API.STREAM.PURGE.K8S_EV', JSON.stringify({ seq: 106 }));
  await another.close();
  await assert.rejects(publisher.publish(stretch(103, 105)), { name: 'BusUnavailable' });
  assert.deepEqual(await publisher.retained?.position(), { floor: 0, last: 0 });
  await eventually(() => interruptions > 0, 'who follows the stream is told');
  await publisher.retained?.restartAfter(107);
  await publishAll(publisher, [message(108), message(109)]);
  await eventually(() => seen.revisions().at(-1) === 109, 'the subscription goes on');
});

test('[TEST-10] a recreated stream accepts nothing meant for its past', async () => {
  await using server = await startNatsServer();
  await using publisher = connectTo(server);
  await publisher.retained?.restartAfter(100);
  await publishAll(publisher, [message(101), message(102)]);
  await publisher.retained?.restartAfter(105);
  const late = await connect({ servers: server.url });
  const expected = headers();
  expected.set('Nats-Expected-Last-Sequence', '2');
  // As a publisher that knows the server's count difference sends revision 103.
  await late.request('k8s.ev.obj.test.dev.things.ns.a', '{}', { headers: expected, timeout: 5_000 });
  await late.close();
  assert.equal((await publisher.retained?.position())?.last, 105);
});
