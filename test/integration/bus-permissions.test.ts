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

test('every role receives what it needs', async () => {
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

test('a node is refused the pods of another node, of no node, and everything else', async () => {
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

test('a filter in the body that differs from the one that was allowed is refused', async () => {
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
    '$JS.API.CONSUMER.CREATE.K8S_EV.thief.k8s.ev.pods.*.node-1.>',
    JSON.stringify({
      stream_name: 'K8S_EV',
      config: { name: 'thief', deliver_subject: deliverTo, filter_subject: 'k8s.ev.pods.>', ack_policy: 'none' },
    }),
    { timeout: 30_000 },
  );
  assert.match(reply.string(), /"error"/);
  await thief.flush();
  assert.deepEqual(loot, []);
});

const FORBIDDEN_TO_NODES: readonly [string, string][] = [
  ['publish a change', 'k8s.ev.pods.-.node-1.ns.p'],
  ['publish a heartbeat', HEARTBEAT_SUBJECT],
  ['restart the stream', 'k8s.ev.sys.restart'],
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

test("nobody listens on another role's inbox, or without a password", async () => {
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
