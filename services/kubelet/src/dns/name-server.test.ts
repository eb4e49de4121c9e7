import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import { connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import type { EndpointSlice, Service } from '@holdfast/api';
import { createSilentLog, createSystemClock, nextTurn } from '@holdfast/platform';
import { createVirtualClock } from '@holdfast/platform/testing';
import codec, { type Packet } from 'dns-packet';
import { DNS_FORWARD_MS, DNS_FORWARDS_MAX, DNS_FORWARDS_PER_SOURCE_MAX } from './limits.ts';
import type { KnownNames } from './look-up.ts';
import { NameServer } from './name-server.ts';
import { FrameReader, framed } from './tcp-frames.ts';

const clock = createSystemClock();
const log = createSilentLog();

const service = (name: string, spec: Service['spec']): Service => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { namespace: 'shop', name },
  spec,
  status: { loadBalancer: {} },
});
const many = Array.from({ length: 100 }, (_, i) => `10.0.1.${i}`);
const MANY: EndpointSlice = {
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: { namespace: 'shop', name: 'many-1' },
  addressType: 'IPv4',
  endpoints: many.map((address) => ({ addresses: [address] })),
};
/** More than a message can hold. */
const CROWD: EndpointSlice = {
  ...MANY,
  endpoints: Array.from({ length: 3_000 }, (_, i) => ({ addresses: [`10.2.${i >> 8}.${i & 255}`] })),
};
const KNOWN = [
  service('crowd', { clusterIP: 'None' }),
  service('web', { clusterIP: '10.96.0.7' }),
  service('far', { type: 'ExternalName', externalName: 'far.example' }),
  service('many', { clusterIP: '10.96.1.0' }),
];
const NAMES: KnownNames = {
  domain: 'cluster.local',
  service: (namespace, name) => KNOWN.find(({ metadata }) => namespace === 'shop' && metadata.name === name),
  slices: (_namespace, name) => (name === 'many' ? [MANY] : name === 'crowd' ? [CROWD] : []),
  servicesAt: (address) => KNOWN.filter(({ spec }) => spec.clusterIP === address),
  slicesAt: () => [],
};

/** The machine's own name server, which knows `example` alone. */
async function openUpstream(t: TestContext): Promise<{ readonly port: number; readonly asked: string[] }> {
  const socket = createSocket('udp4');
  const asked: string[] = [];
  socket.on('message', (bytes, from) => {
    const { id, questions = [] } = codec.decode(bytes);
    const name = questions[0]?.name ?? '';
    asked.push(name);
    const answers: Packet['answers'] = name.endsWith('example') ? [{ type: 'A', name, data: '192.0.2.1' }] : [];
    const flags = answers.length === 0 ? 3 : 0;
    socket.send(codec.encode({ type: 'response', id: id ?? 0, flags, questions, answers }), from.port, from.address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  t.after(() => socket.close());
  return { port: socket.address().port, asked };
}

async function open(t: TestContext, isComplete = () => true) {
  const upstream = await openUpstream(t);
  const server = new NameServer({
    clock,
    log,
    names: NAMES,
    isComplete,
    port: 0,
    upstream: { clock, port: upstream.port, servers: async () => ['127.0.0.1'] },
  });
  await server.start();
  t.after(() => server.stop());
  const listening = server.address();
  assert.ok(listening, 'it listens');
  const resolver = new Resolver({ timeout: 10_000, tries: 2 });
  resolver.setServers([`${listening.address}:${listening.port}`]);
  t.after(() => resolver.cancel());
  return { resolver, upstream, listening };
}

test('[EXP-11] service names are answered, missing names are NXDOMAIN, and external names are forwarded', async (t) => {
  const { resolver, upstream } = await open(t);
  assert.deepEqual(await resolver.resolve4('web.shop.svc.cluster.local'), ['192.0.2.0']);
  await assert.rejects(resolver.resolve4('none.shop.svc.cluster.local'), { code: 'ENOTFOUND' });
  await assert.rejects(resolver.resolve6('web.shop.svc.cluster.local'), { code: 'ENODATA' });
  assert.deepEqual(upstream.asked, [], 'nobody outside hears of names of the cluster');
  assert.deepEqual(await resolver.resolve4('www.example'), ['192.0.2.1']);
  await assert.rejects(resolver.resolve4('www.nowhere'), { code: 'ENOTFOUND' });
  assert.deepEqual(upstream.asked, ['www.example', 'www.nowhere']);
});

test('reverse names and texts are encoded, and a question with EDNS gets an answer with EDNS', async (t) => {
  const { resolver, listening } = await open(t);
  assert.deepEqual(await resolver.reverse('10.96.0.7'), ['web.shop.svc.cluster.local']);
  assert.deepEqual(await resolver.resolveTxt('dns-version.cluster.local'), [['1.1.0']]);
  const socket = createSocket('udp4');
  t.after(() => socket.close());
  const ask = async (udpPayloadSize?: number): Promise<Packet> => {
    const questions = [{ type: 'A' as const, name: 'web.shop.svc.cluster.local' }];
    const rest = { name: '.', extendedRcode: 0, ednsVersion: 0, flags: 0, flag_do: false, options: [] };
    const additionals = udpPayloadSize === undefined ? [] : [{ type: 'OPT' as const, udpPayloadSize, ...rest }];
    const query = codec.encode({ type: 'query', id: 1, questions, additionals });
    socket.send(query, listening.port, listening.address);
    const [answer] = await once(socket, 'message');
    return codec.decode(answer);
  };
  assert.deepEqual((await ask()).additionals, []);
  const [answered] = (await ask(4_096)).additionals ?? [];
  assert.ok(answered?.type === 'OPT' && answered.udpPayloadSize === 1_232);
});

test('a CNAME to an external name includes its addresses', async (t) => {
  const { resolver } = await open(t);
  assert.deepEqual(await resolver.resolve4('far.shop.svc.cluster.local'), ['192.0.2.1']);
});

test('an answer that is too long for a datagram is sent over TCP', async (t) => {
  const { resolver } = await open(t);
  assert.equal((await resolver.resolve4('many.shop.svc.cluster.local')).length, many.length);
});

/** The answer to one message over TCP. */
async function askOverTcp({ address, port }: { address: string; port: number }, query: Buffer): Promise<Packet> {
  const socket = connect(port, address);
  const reader = new FrameReader();
  socket.write(framed(query));
  for await (const chunk of socket) {
    const [answer] = reader.push(chunk);
    if (answer !== undefined) return codec.decode(answer);
  }
  return assert.fail('the connection was closed without an answer');
}

test('a service with more endpoints than a message can hold is answered with as many as it holds', async (t) => {
  const { listening } = await open(t);
  const questions = [{ type: 'A' as const, name: 'crowd.shop.svc.cluster.local' }];
  const { answers = [], ...rest } = await askOverTcp(listening, codec.encode({ type: 'query', id: 1, questions }));
  assert.ok(answers.length > 1_000 && answers.length < 3_000, `${answers.length} answers`);
  assert.equal(new Set(answers.map((each) => each.type === 'A' && each.data)).size, answers.length);
  assert.equal('flag_tc' in rest && rest.flag_tc, true, 'the client is told that some are missing');
});

test('a message with hundreds of questions gets an answer that does not repeat them', async (t) => {
  const { listening, resolver } = await open(t);
  const questions = Array.from({ length: 300 }, () => ({ type: 'A' as const, name: `${'long.'.repeat(40)}example` }));
  const query = codec.encode({ type: 'query', id: 1, questions: questions.slice(0, 1) });
  // The others are pointers to the name of the first one, which is at byte 12.
  const others = Buffer.concat(questions.slice(1).map(() => Buffer.from([0xc0, 12, 0, 1, 0, 1])));
  query.writeUInt16BE(questions.length, 4);
  const answer = await askOverTcp(listening, Buffer.concat([query, others]));
  assert.deepEqual([(answer.flags ?? 0) & 15, answer.questions?.length], [4, 1]);
  assert.deepEqual(await resolver.resolve4('web.shop.svc.cluster.local'), ['192.0.2.0'], 'and it goes on');
});

test('while services are not known yet no name of the cluster is NXDOMAIN', async (t) => {
  let isComplete = false;
  const { resolver } = await open(t, () => isComplete);
  await assert.rejects(resolver.resolve4('none.shop.svc.cluster.local'), { code: 'ESERVFAIL' });
  isComplete = true;
  await assert.rejects(resolver.resolve4('none.shop.svc.cluster.local'), { code: 'ENOTFOUND' });
});

test('a server with an address of its own listens there or nowhere', async (t) => {
  const at = (port: number) =>
    new NameServer({
      clock,
      log,
      names: NAMES,
      isComplete: () => true,
      port,
      address: '127.97.0.10',
      upstream: { clock, servers: async () => [] },
    });
  const first = at(0);
  await first.start();
  t.after(() => first.stop());
  assert.equal(first.address()?.address, '127.97.0.10');
  const second = at(first.address()?.port ?? 0);
  await second.start();
  assert.equal(second.address(), undefined);
});

test('two servers on one machine use two addresses with the same port, and invalid packets are not answered', async (t) => {
  const first = await open(t);
  const { port } = first.listening;
  const second = new NameServer({
    clock,
    log,
    names: NAMES,
    isComplete: () => true,
    port,
    upstream: { clock, servers: async () => [] },
  });
  await second.start();
  t.after(() => second.stop());
  assert.notEqual(second.address()?.address, first.listening.address);
  const socket = createSocket('udp4');
  t.after(() => socket.close());
  for (const bytes of [Buffer.alloc(0), Buffer.from('hello'), Buffer.alloc(600, 0xff)])
    socket.send(bytes, port, first.listening.address);
  assert.deepEqual(await first.resolver.resolve4('web.shop.svc.cluster.local'), ['192.0.2.0']);
});

test('a client that asks for many names outside keeps no other client from asking', async (t) => {
  const silent = createSocket('udp4');
  t.after(() => silent.close());
  silent.bind(0, '127.0.0.1');
  await once(silent, 'listening');
  const virtual = createVirtualClock();
  const { port } = silent.address();
  const upstream = { clock: virtual, port, servers: async () => ['127.0.0.1'] };
  const server = new NameServer({ clock: virtual, log, names: NAMES, isComplete: () => true, port: 0, upstream });
  await server.start();
  t.after(() => server.stop());
  const failed: string[] = [];
  const asked: Promise<void>[] = [];
  const ask = (source: string): void => {
    const bytes = codec.encode({ type: 'query', id: 1, questions: [{ type: 'A', name: `${source}.example` }] });
    asked.push(server.answer({ bytes, source, transport: 'udp' }).then(() => void failed.push(source)));
  };
  const fails = async (expected: readonly string[]): Promise<void> => {
    while (failed.length < expected.length && !t.signal.aborted) await nextTurn();
    assert.deepEqual(failed.splice(0), expected);
  };
  for (let i = 0; i <= DNS_FORWARDS_PER_SOURCE_MAX; i++) ask('greedy');
  await fails(['greedy']);
  while (failed.length === 0 && asked.length <= DNS_FORWARDS_MAX) ask('other');
  await fails([]);
  ask('modest');
  await fails(['greedy']);
  await virtual.advance(DNS_FORWARD_MS);
  await Promise.all(asked);
  assert.equal(failed.filter((source) => source === 'modest').length, 1, 'it waited for its answer');
});
