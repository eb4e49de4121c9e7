import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changeSubject, HEARTBEAT_SUBJECT, nodePodsPattern, pendingPodsPattern, resourcePattern } from '@holdfast/bus';
import { collect, eventually, message, publishAll } from '@holdfast/bus/contract';
import { createNatsBus, type NatsRole, natsUserName } from '@holdfast/bus/nats';
import { createSilentLog, createSystemClock } from '@holdfast/platform';
import { connect, type NatsConnection } from 'nats';
import { type NatsServer, startNatsServer } from '../support/nats-server.ts';

const APISERVER: NatsRole = { kind: 'apiserver' };
const SCHEDULER: NatsRole = { kind: 'scheduler' };
const MANAGER: NatsRole = { kind: 'controller-manager' };
const NODE_1: NatsRole = { kind: 'node', nodeName: 'node-1' };
const NODE_2: NatsRole = { kind: 'node', nodeName: 'node.2' };
const ROLES = [APISERVER, SCHEDULER, MANAGER, NODE_1, NODE_2];

const passwordOf = (role: NatsRole): string => `password of ${natsUserName(role)}`;

function startServer(): Promise<NatsServer> {
  return startNatsServer({ users: ROLES.map((role) => ({ role, password: passwordOf(role) })) });
}

function busOf(server: NatsServer, role: NatsRole): ReturnType<typeof createNatsBus> & AsyncDisposable {
  const bus = createNatsBus({
    servers: [server.url],
    user: natsUserName(role),
    password: passwordOf(role),
    role: role.kind === 'apiserver' ? 'publisher' : 'consumer',
    clock: createSystemClock(),
    log: createSilentLog(),
  });
  return Object.assign(bus, { [Symbol.asyncDispose]: () => bus.close() });
}

/** A client that does what it likes with the credentials of a role. */
async function rogue(server: NatsServer, role: NatsRole): Promise<NatsConnection & AsyncDisposable> {
  const user = natsUserName(role);
  const inboxPrefix = `_INBOX_${user.replace('.', '=2E')}`;
  const connection = await connect({ servers: server.url, user, pass: passwordOf(role), inboxPrefix });
  return Object.assign(connection, { [Symbol.asyncDispose]: () => connection.close() });
}

const podOn = (nodeName: string): string =>
  changeSubject({ group: '', resource: 'pods', namespace: 'ns', name: `p-${nodeName}`, nodeName });

test('every role receives its messages', async () => {
  await using server = await startServer();
  await using apiserver = busOf(server, APISERVER);
  await using scheduler = busOf(server, SCHEDULER);
  await using manager = busOf(server, MANAGER);
  await using node = busOf(server, NODE_1);
  await using dotted = busOf(server, NODE_2);
  await apiserver.retained?.restartAfter(10);
  const pods = await collect(scheduler, [...resourcePattern('', 'pods'), HEARTBEAT_SUBJECT]);
  const things = await collect(manager, resourcePattern('test.dev', 'things'));
  const own = await collect(node, [nodePodsPattern('node-1'), HEARTBEAT_SUBJECT]);
  const dottedOwn = await collect(dotted, nodePodsPattern('node.2'));
  await publishAll(apiserver, [
    message(11, { subject: podOn('node-1') }),
    message(12, { subject: podOn('node.2') }),
    message(13),
    message(13, { subject: HEARTBEAT_SUBJECT }),
  ]);
  await eventually(() => pods.received.length === 3 && own.received.length === 2, 'pods and heartbeats arrive');
  await eventually(() => things.received.length === 1 && dottedOwn.received.length === 1, 'the others arrive');
  assert.deepEqual(own.revisions(), [11, 13]);
  assert.deepEqual(dottedOwn.revisions(), [12]);
});

test('a node is refused the pods of another node, of no node, and all other subjects', async () => {
  await using server = await startServer();
  await using apiserver = busOf(server, APISERVER);
  await using node = busOf(server, NODE_1);
  await apiserver.retained?.position();
  const refused = [
    nodePodsPattern('node.2'),
    'k8s.ev.node.*.pods.>',
    pendingPodsPattern(),
    ...resourcePattern('', 'secrets'),
    'k8s.ev.>',
  ];
  const greedy = await Promise.all(refused.map((pattern) => collect(node, pattern, { after: 0 })));
  const own = await collect(node, nodePodsPattern('node-1'), { after: 0 });
  await publishAll(apiserver, [
    message(1, { subject: podOn('node.2') }),
    message(2, { subject: changeSubject({ group: '', resource: 'pods', namespace: 'ns', name: 'waiting' }) }),
    message(3, { subject: changeSubject({ group: '', resource: 'secrets', namespace: 'ns', name: 's' }) }),
    message(4, { subject: podOn('node-1') }),
  ]);
  await eventually(() => own.received.length === 1, 'its own pod arrives');
  assert.deepEqual(
    greedy.map((each) => each.revisions()),
    refused.map(() => []),
  );
});

test('a filter in the body that differs from the permitted one is refused', async () => {
  await using server = await startServer();
  await using apiserver = busOf(server, APISERVER);
  await apiserver.publish([message(1, { subject: podOn('node.2') })]);
  await using thief = await rogue(server, NODE_1);
  const deliverTo = '_INBOX_node-node-1.loot';
  const loot: string[] = [];
  thief.subscribe(deliverTo, {
    callback: (error, msg) => {
      assert.equal(error, null, 'its own inbox is open to it');
      loot.push(msg.subject);
    },
  });
  const reply = await thief.request(
    '$JS.API.CONSUMER.CREATE.K8S_EV.node-node-1-0.k8s.ev.pods.*.node-1.>',
    JSON.stringify({
      stream_name: 'K8S_EV',
      config: {
        name: 'node-node-1-0',
        deliver_subject: deliverTo,
        filter_subject: 'k8s.ev.pods.>',
        ack_policy: 'none',
      },
    }),
    { timeout: 30_000 },
  );
  assert.match(reply.string(), /"error"/);
  await thief.flush();
  assert.deepEqual(loot, []);
});

const OWN_FILTER = 'k8s.ev.pods.*.node-1.>';
/** The names in the permissions; a separate constant, so that a changed limit is deliberate. */
const NODE_CONSUMERS = 8;

/** Requests a consumer as a hostile client would; the response does not matter. */
function demandConsumer(client: NatsConnection, name: string, config: object): void {
  const body = { stream_name: 'K8S_EV', config: { filter_subject: OWN_FILTER, ack_policy: 'none', ...config } };
  client.publish(`$JS.API.CONSUMER.CREATE.K8S_EV.${name}.${OWN_FILTER}`, JSON.stringify(body));
}

async function consumerCount(apiserver: NatsConnection): Promise<number> {
  const reply = await apiserver.request('$JS.API.STREAM.INFO.K8S_EV');
  return JSON.parse(reply.string()).state.consumer_count;
}

function allNamesAreTaken(apiserver: NatsConnection): Promise<boolean> {
  return eventually(
    async () => (await consumerCount(apiserver)) === NODE_CONSUMERS,
    'each name of the node has a consumer',
  );
}

/** Durable consumers under every name that node-1 may use. */
async function occupyAllNames(client: NatsConnection, apiserver: NatsConnection): Promise<void> {
  for (let slot = 0; slot < NODE_CONSUMERS; slot++) {
    const name = `node-node-1-${slot}`;
    demandConsumer(client, name, { durable_name: name, deliver_subject: '_INBOX_node-node-1.loot' });
  }
  await allNamesAreTaken(apiserver);
}

test('a node credential creates at most eight consumers, with any kind and names', async () => {
  await using server = await startServer();
  await using apiserver = busOf(server, APISERVER);
  await using observer = await rogue(server, APISERVER);
  await using hostile = await rogue(server, NODE_1);
  await apiserver.retained?.position();
  const inbox = '_INBOX_node-node-1.loot';
  hostile.subscribe(inbox, { callback: () => {} });
  for (let i = 0; i < 200; i++) {
    const deliver_subject = inbox;
    for (const name of [`node-node-1-${i}`, `other-${i}`, `node-node=2E2-${i}`]) {
      demandConsumer(hostile, name, { durable_name: name, deliver_subject });
      demandConsumer(hostile, name, { name, deliver_subject });
      demandConsumer(hostile, name, { name, inactive_threshold: 86_400e9 });
    }
    demandConsumer(hostile, `node-node-1-${i % NODE_CONSUMERS}`, { name: `free-${i}`, deliver_subject });
    demandConsumer(hostile, `node-node-1-${i % NODE_CONSUMERS}`, { durable_name: `free-${i}`, deliver_subject });
    hostile.publish('$JS.API.CONSUMER.CREATE.K8S_EV', JSON.stringify({ stream_name: 'K8S_EV', config: {} }));
  }
  await hostile.flush();
  // Answered after the requests before it.
  await hostile.request('$JS.API.CONSUMER.INFO.K8S_EV.node-node-1-0');
  await allNamesAreTaken(observer);
});

test('abandoned consumers under all names of a node do not block its kubelet', async () => {
  await using server = await startServer();
  await using apiserver = busOf(server, APISERVER);
  await using observer = await rogue(server, APISERVER);
  await apiserver.retained?.position();
  await using hostile = await rogue(server, NODE_1);
  await occupyAllNames(hostile, observer);
  await using node = busOf(server, NODE_1);
  const own = await collect(node, nodePodsPattern('node-1'), { after: 0 });
  await publishAll(apiserver, [message(1, { subject: podOn('node-1') })]);
  await eventually(() => own.received.length === 1, 'its pod arrives');
  await allNamesAreTaken(observer);
});

test('live consumers under all names of a node give way to its kubelet', async () => {
  await using server = await startServer();
  await using apiserver = busOf(server, APISERVER);
  await using observer = await rogue(server, APISERVER);
  await apiserver.retained?.position();
  await using hostile = await rogue(server, NODE_1);
  hostile.subscribe('_INBOX_node-node-1.loot', { callback: () => {} });
  await occupyAllNames(hostile, observer);
  await using node = busOf(server, NODE_1);
  const own = await collect(node, nodePodsPattern('node-1'), { after: 0 });
  await publishAll(apiserver, [message(1, { subject: podOn('node-1') })]);
  await eventually(() => own.received.length === 1, 'its pod arrives');
});

test('[TEST-10] two kubelet processes of one node get every change once, through reconnects and restarts', async () => {
  await using server = await startServer();
  await using apiserver = busOf(server, APISERVER);
  await using observer = await rogue(server, APISERVER);
  await apiserver.retained?.position();
  const interruptions: number[] = [];
  const follow = (bus: ReturnType<typeof busOf>): ReturnType<typeof collect> =>
    collect(bus, nodePodsPattern('node-1'), { after: 0, onInterruption: () => interruptions.push(1) });
  await using one = busOf(server, NODE_1);
  await using other = busOf(server, NODE_1);
  const both = [await follow(one), await follow(other)];
  await publishAll(apiserver, [message(1, { subject: podOn('node-1') })]);
  // A kubelet that is restarted over and over: each leaves a consumer behind.
  for (let restart = 0; restart < 2 * NODE_CONSUMERS; restart++) {
    await using brief = busOf(server, NODE_1);
    const seen = await follow(brief);
    await eventually(() => seen.received.length === 1, 'a process that restarts gets the pods');
  }
  assert.ok((await consumerCount(observer)) <= NODE_CONSUMERS);
  await server.restart();
  await eventually(async () => {
    await apiserver.publish([message(2, { subject: podOn('node-1') })]).catch(() => undefined);
    return (await apiserver.retained?.position().catch(() => undefined))?.last === 2;
  }, 'the change is stored');
  await eventually(() => both.every(({ received }) => received.length === 2), 'both get it');
  assert.deepEqual(
    both.map((each) => each.revisions()),
    [
      [1, 2],
      [1, 2],
    ],
  );
  assert.deepEqual(interruptions, []);
});

const FORBIDDEN_TO_NODES: readonly [string, string][] = [
  ['publish a change', 'k8s.ev.pods.-.node-1.ns.p'],
  ['publish a heartbeat', HEARTBEAT_SUBJECT],
  ['restart the stream', 'k8s.ev.sys.restart'],
  ['tell the API servers who wrote', 'k8s.ev.sys.notes'],
  ['purge the stream', '$JS.API.STREAM.PURGE.K8S_EV'],
  ['delete the stream', '$JS.API.STREAM.DELETE.K8S_EV'],
  ['read a stored message', '$JS.API.STREAM.MSG.GET.K8S_EV'],
  ['read a stored message directly', '$JS.API.DIRECT.GET.K8S_EV'],
  ['create a consumer the old way', '$JS.API.CONSUMER.CREATE.K8S_EV'],
  ['create a durable consumer', '$JS.API.CONSUMER.DURABLE.CREATE.K8S_EV.d'],
  ['create a stream', '$JS.API.STREAM.CREATE.OTHER'],
  ['write to the inbox of another', '_INBOX_scheduler.x'],
];

for (const role of [NODE_1, SCHEDULER, MANAGER]) {
  test(`${natsUserName(role)} may not publish or manage`, async () => {
    await using server = await startServer();
    await using apiserver = busOf(server, APISERVER);
    await apiserver.retained?.position();
    await using rebel = await rogue(server, role);
    const violations: string[] = [];
    void (async () => {
      for await (const status of rebel.status()) violations.push(JSON.stringify(status));
    })();
    for (const [, subject] of FORBIDDEN_TO_NODES) rebel.publish(subject, '{}');
    await rebel.flush();
    await eventually(() => violations.length >= FORBIDDEN_TO_NODES.length, 'every attempt is refused');
    for (const [what, subject] of FORBIDDEN_TO_NODES) {
      assert.ok(
        violations.some((each) => each.includes(subject)),
        what,
      );
    }
    assert.deepEqual(await apiserver.retained?.position(), { floor: 0, last: 0 });
  });
}

test('API servers hear the notes of each other, and nobody else does', async () => {
  await using server = await startServer();
  await using one = busOf(server, APISERVER);
  await using other = busOf(server, APISERVER);
  const heard: string[] = [];
  const refused: string[] = [];
  const forget = other.notes?.listen((text) => heard.push(text));
  for (const role of [SCHEDULER, MANAGER, NODE_1]) {
    await using bus = busOf(server, role);
    assert.equal(bus.notes, undefined);
    await using spy = await rogue(server, role);
    const before = refused.length;
    spy.subscribe('k8s.ev.sys.notes', { callback: (error) => refused.push(`${error?.message}`) });
    await eventually(() => refused.length > before, 'the spy is refused');
  }
  assert.match(refused.join(), /permissions violation.*permissions violation.*permissions violation/i);
  await eventually(() => {
    one.notes?.tell('a note');
    return heard.includes('a note');
  }, 'the note arrives');
  await server.restart();
  heard.splice(0);
  await eventually(() => {
    one.notes?.tell('after a restart');
    return heard.includes('after a restart');
  }, 'the note arrives on a new connection');
  forget?.();
});

test('no client can listen on the inbox of another role, or without a password', async () => {
  await using server = await startServer();
  await using spy = await rogue(server, NODE_1);
  const errors: string[] = [];
  for (const subject of ['_INBOX_scheduler.>', '_INBOX_node-node=2E2.>', '>', 'k8s.ev.>']) {
    spy.subscribe(subject, { callback: (error) => errors.push(String(error?.message)) });
  }
  await eventually(() => errors.length === 4, 'every subscription is refused');
  assert.ok(
    errors.every((each) => /permissions violation/i.test(each)),
    errors.join(),
  );
  await assert.rejects(connect({ servers: server.url, reconnect: false }), /AUTHORIZATION/i);
});
