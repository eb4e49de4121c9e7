import assert from 'node:assert/strict';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { ENDPOINT_SLICES, type Service as KubeService, SERVICES } from '@holdfast/api';
import { createApiClient, createDirectTransport } from '@holdfast/client';
import { FakeApi, pathFor } from '@holdfast/client/testing';
import { createSeededRandom, createSilentLog } from '@holdfast/platform';
import { createVirtualClock } from '@holdfast/platform/testing';
import { ENTRANCE_RETRY_MS, ENTRANCES_MAX, ENTRANCES_PER_SERVICE_MAX } from '../limits.ts';
import { type EndpointSketch, type ServiceSketch, service, slice } from '../testing/builders.ts';
import { AddressPool } from './address-pool.ts';
import { EndpointChoice, isAllowedSource } from './choice.ts';
import { Entrances } from './entrances.ts';
import { LocalLoadBalancers } from './local-load-balancers.ts';
import { NodePortEntrances } from './node-port-entrances.ts';
import type { Dial, OpenTcpPort, Place } from './port.ts';

const TWO: readonly EndpointSketch[] = [{ address: '10.244.0.2' }, { address: '10.244.1.3', node: 'b' }];
const BALANCED: ServiceSketch = { type: 'LoadBalancer', ports: [{ nodePort: 30_080 }] };

/** A machine whose ports are a map. Ports in `refused` have an error code. */
function machine(refused: ReadonlyMap<string, string> = new Map()) {
  const open = new Map<string, (socket: Socket) => void>();
  const openTcpPort: OpenTcpPort = async ({ host, port }, accept) => {
    const at = `${host}:${port}`;
    const isInUse = [...open.keys()].some((other) => isSamePlace(at, other));
    const code = refused.get(at) ?? (isInUse ? 'EADDRINUSE' : undefined);
    if (code !== undefined) throw Object.assign(new Error(`listen ${code}: ${at}`), { code });
    open.set(at, accept);
    return { close: async () => void open.delete(at) };
  };
  return { openTcpPort, ports: () => [...open.keys()].toSorted() };
}

/** `0.0.0.0` stands for every address. */
function isSamePlace(one: string, other: string): boolean {
  const [[host, port], [otherHost, otherPort]] = [one.split(':'), other.split(':')];
  return port === otherPort && (host === otherHost || host === '0.0.0.0' || otherHost === '0.0.0.0');
}

async function rig({ openTcpPort }: Pick<ReturnType<typeof machine>, 'openTcpPort'>, dial: Dial = neverDial) {
  const clock = createVirtualClock();
  const api = new FakeApi(clock);
  const client = createApiClient({ transport: createDirectTransport(api.handler), userAgent: 'test' });
  const random = createSeededRandom(1, 'entrances');
  const entrances = new Entrances({ client, clock, random, log: createSilentLog(), dial, openTcpPort });
  const put = (object: KubeService) => api.put(pathFor(SERVICES, 'default', object.metadata.name ?? ''), object);
  const reading = entrances.views();
  await clock.advance(100);
  await reading;
  return { clock, api, entrances, put, settle: () => clock.advance(100) };
}

const neverDial: Dial = async () => {
  throw new Error('nothing is dialled');
};

test('a load balancer has an address of the pool, the ports of its service there, and keeps it', async () => {
  const { ports, openTcpPort } = machine();
  const { entrances } = await rig({ openTcpPort });
  const balancers = new LocalLoadBalancers(entrances, new AddressPool('127.96.0.0/16'));
  const first = await balancers.ensure(service(BALANCED));
  assert.deepEqual(first, { ingress: [{ ip: '127.96.0.1', ipMode: 'Proxy' }], problems: [] });
  assert.deepEqual(ports(), ['127.96.0.1:30080', '127.96.0.1:80']);
  assert.deepEqual(await balancers.ensure(service(BALANCED)), first, 'also when its status was not written');
  const other = await balancers.ensure(service({ ...BALANCED, name: 'other' }));
  assert.equal(other.ingress[0]?.ip, '127.96.0.2');
  const held = service({ ...BALANCED, ingress: [{ ip: '127.96.0.1' }], ports: [{ port: 81 }] });
  assert.equal((await balancers.ensure(held)).ingress[0]?.ip, '127.96.0.1');
  assert.deepEqual(ports(), ['127.96.0.1:81', '127.96.0.2:30080', '127.96.0.2:80'], 'former ports are closed');
  await balancers.release('default/web');
  assert.deepEqual(ports(), ['127.96.0.2:30080', '127.96.0.2:80']);
  assert.equal((await balancers.ensure(service({ ...BALANCED, name: 'third' }))).ingress[0]?.ip, '127.96.0.3');
  await entrances.stop();
  assert.deepEqual(ports(), []);
});

test('an address whose ports another program has is passed over, and loadBalancerIP is honoured within the pool', async () => {
  const { openTcpPort, ports } = machine(new Map([['127.96.0.1:80', 'EADDRINUSE']]));
  const { entrances } = await rig({ openTcpPort });
  const balancers = new LocalLoadBalancers(entrances, new AddressPool('127.96.0.0/16'));
  assert.equal((await balancers.ensure(service(BALANCED))).ingress[0]?.ip, '127.96.0.2');
  const asks = (loadBalancerIP: string) =>
    balancers.ensure(service({ ...BALANCED, name: loadBalancerIP, loadBalancerIP }));
  assert.equal((await asks('127.96.7.7')).ingress[0]?.ip, '127.96.7.7');
  assert.notEqual((await asks('192.0.2.1')).ingress[0]?.ip, '192.0.2.1');
  assert.ok(
    !ports().some((at) => at.startsWith('127.96.0.1:')),
    'nothing stays open at the address that was passed over',
  );
});

test('a load balancer leaves its node ports to those who open them at the same address, or at every one', async () => {
  for (const [nodePortsAt, expected] of [
    ['0.0.0.0', ['0.0.0.0:30080', '127.96.0.1:80']],
    ['127.96.0.1', ['127.96.0.1:30080', '127.96.0.1:80']],
    ['127.0.0.1', ['127.0.0.1:30080', '127.96.0.1:30080', '127.96.0.1:80']],
  ] as const) {
    const { openTcpPort, ports } = machine();
    const { clock, entrances, put, settle } = await rig({ openTcpPort });
    const balancers = new LocalLoadBalancers(entrances, new AddressPool('127.96.0.0/16'), nodePortsAt);
    const nodePorts = new NodePortEntrances({ entrances, host: nodePortsAt, clock, log: createSilentLog() });
    assert.equal((await balancers.ensure(service(BALANCED))).ingress[0]?.ip, '127.96.0.1');
    put(service(BALANCED));
    await settle();
    await nodePorts.start();
    await settle();
    assert.deepEqual(ports(), expected);
    assert.equal((await balancers.ensure(service(BALANCED))).ingress[0]?.ip, '127.96.0.1');
    await nodePorts.stop();
    await entrances.stop();
  }
});

test('a port that this user may not open is a problem with the way around it', async () => {
  const { openTcpPort } = machine(new Map([['127.96.0.1:80', 'EACCES']]));
  const { entrances } = await rig({ openTcpPort });
  const balancers = new LocalLoadBalancers(entrances, new AddressPool('127.96.0.0/16'));
  const ports = [{ nodePort: 30_080 }, { name: 'dns', port: 53, protocol: 'UDP' }];
  const { ingress, problems } = await balancers.ensure(service({ ...BALANCED, ports }));
  assert.deepEqual(ingress[0]?.ports, [
    { port: 80, protocol: 'TCP', error: 'PortNotOpened' },
    { port: 53, protocol: 'UDP', error: 'ProtocolNotSupported' },
  ]);
  assert.match(problems[0] ?? '', /EACCES.*answers at 127\.96\.0\.1:30080/);
  assert.match(problems[1] ?? '', /TCP only/);
});

test('one service has a bounded number of open ports, and another one still gets its own', async () => {
  const { openTcpPort, ports } = machine();
  const { entrances } = await rig({ openTcpPort });
  const balancers = new LocalLoadBalancers(entrances, new AddressPool('127.96.0.0/16'));
  const many = Array.from({ length: ENTRANCES_PER_SERVICE_MAX + 1 }, (_, i) => ({ name: `p${i}`, port: i + 1 }));
  const { problems } = await balancers.ensure(service({ ...BALANCED, ports: many }));
  assert.deepEqual([problems.length, ports().length], [1, ENTRANCES_PER_SERVICE_MAX]);
  assert.match(problems[0] ?? '', /Port 201 .*200 ports of this service are open/);
  assert.deepEqual((await balancers.ensure(service({ ...BALANCED, name: 'other' }))).problems, []);
});

test('one namespace has no more open ports than remain free', async () => {
  const { openTcpPort, ports } = machine();
  const { entrances } = await rig({ openTcpPort });
  const open = (owner: string, number: number) =>
    entrances.open({
      service: owner,
      port: { port: number },
      at: { host: '127.96.0.1', port: number },
      kind: 'node port',
    });
  for (let i = 0; i < ENTRANCES_MAX; i++) await open(`greedy/${Math.floor(i / ENTRANCES_PER_SERVICE_MAX)}`, i + 1);
  assert.equal(ports().length, ENTRANCES_MAX / 2);
  assert.match((await open('greedy/late', 60_000))?.reason ?? '', /1000 ports of this namespace are open/);
  assert.equal(await open('other/web', 60_000), undefined);
});

test('no port is opened after the stop', async () => {
  const { openTcpPort, ports } = machine();
  const opening = Promise.withResolvers<void>();
  const late: OpenTcpPort = async (place, accept) => {
    await opening.promise;
    return openTcpPort(place, accept);
  };
  const { entrances } = await rig({ openTcpPort: late });
  const balancers = new LocalLoadBalancers(entrances, new AddressPool('127.96.0.0/16'));
  const begun = balancers.ensure(service(BALANCED));
  await entrances.stop();
  opening.resolve();
  await assert.rejects(begun, /are closed/);
  await assert.rejects(balancers.ensure(service(BALANCED)), /are closed/);
  assert.deepEqual(ports(), []);
});

test('when every address is taken, the service gets none and keeps no port', async () => {
  const { openTcpPort, ports } = machine(new Map([['127.0.0.1:80', 'EADDRINUSE']]));
  const { entrances } = await rig({ openTcpPort });
  const balancers = new LocalLoadBalancers(entrances, new AddressPool('127.0.0.1/32'));
  await assert.rejects(balancers.ensure(service(BALANCED)), /no address of this machine/);
  assert.deepEqual(ports(), []);
  const other = service({ ...BALANCED, name: 'other', ports: [{ port: 81 }] });
  assert.equal((await balancers.ensure(other)).ingress[0]?.ip, '127.0.0.1');
});

test('node ports follow their services', async () => {
  const { openTcpPort, ports } = machine();
  const { clock, entrances, put, api, settle } = await rig({ openTcpPort });
  const nodePorts = new NodePortEntrances({ entrances, host: '127.0.0.1', clock, log: createSilentLog() });
  put(service({ type: 'NodePort', ports: [{ nodePort: 30_080 }, { port: 53, protocol: 'UDP', nodePort: 30_053 }] }));
  put(service({ name: 'inside' }));
  await settle();
  await nodePorts.start();
  await settle();
  assert.deepEqual(ports(), ['127.0.0.1:30080']);
  put(service({ type: 'NodePort', ports: [{ nodePort: 30_081 }] }));
  await settle();
  assert.deepEqual(ports(), ['127.0.0.1:30081']);
  api.remove(pathFor(SERVICES, 'default', 'web'));
  await settle();
  assert.deepEqual(ports(), []);
  await nodePorts.stop();
  await entrances.stop();
});

test('a node port that another program had is opened when it is free, and its reason is logged once', async () => {
  const refused = new Map([['127.0.0.1:30080', 'EADDRINUSE']]);
  const { openTcpPort, ports } = machine(refused);
  const { clock, entrances, put, settle } = await rig({ openTcpPort });
  const warnings: string[] = [];
  const log = { ...createSilentLog(), warn: (message: string) => void warnings.push(message) };
  const nodePorts = new NodePortEntrances({ entrances, host: '127.0.0.1', clock, log });
  put(service({ type: 'NodePort', ports: [{ nodePort: 30_080 }] }));
  await settle();
  await nodePorts.start();
  await clock.advance(ENTRANCE_RETRY_MS * 3);
  assert.deepEqual([ports(), warnings.length], [[], 1]);
  refused.clear();
  await clock.advance(ENTRANCE_RETRY_MS);
  assert.deepEqual(ports(), ['127.0.0.1:30080']);
  await nodePorts.stop();
  await entrances.stop();
});

test('connections go to endpoints by policy, affinity and readiness', async () => {
  const clock = createVirtualClock();
  const choice = new EndpointChoice({ clock, random: createSeededRandom(1, 'x'), place: { nodeName: undefined } });
  const chosen = (sketch: ServiceSketch, endpoints: readonly EndpointSketch[], client = '127.0.0.1') => {
    const view = { service: service(sketch), slices: [slice(endpoints)] };
    return choice.choose({ view, port: { port: 80, protocol: 'TCP' }, client })?.host;
  };
  const many = (sketch: ServiceSketch) => new Set(Array.from({ length: 40 }, () => chosen(sketch, TWO)));
  assert.deepEqual(many({}), new Set(['10.244.0.2', '10.244.1.3']));
  assert.equal(chosen({}, [{ address: '10.244.0.2', ready: false }]), undefined);
  const sticky: ServiceSketch = { sessionAffinity: 'ClientIP' };
  assert.equal(many(sticky).size, 1);
  const kept = chosen(sticky, TWO);
  const rest = TWO.filter(({ address }) => address !== kept);
  assert.equal(chosen(sticky, rest), rest[0]?.address, 'an endpoint that is gone is left');
});

test('loadBalancerSourceRanges bind clients of load balancers', () => {
  const closed = service({ loadBalancerSourceRanges: ['127.0.0.0/8', 'fd00::/8'] });
  assert.deepEqual(
    ['127.0.0.1', '::ffff:127.0.0.1', '10.0.0.1', 'fd00::1', 'nonsense'].map((client) =>
      isAllowedSource(closed, client),
    ),
    [true, true, false, true, false],
  );
  assert.equal(isAllowedSource(service(), '10.0.0.1'), true);
});

async function answering(t: TestContext): Promise<Place> {
  const server = createServer({ allowHalfOpen: true }, (socket) =>
    socket.on('data', (chunk) => socket.end(`said ${String(chunk)}`)),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  return { host: '127.0.0.1', port: (server.address() as AddressInfo).port };
}

test('a connection is carried to an endpoint, and ends when there is none', async (t) => {
  const target = await answering(t);
  const { openTcpPort } = await import('./tcp-port.ts');
  const dialled: Place[] = [];
  const dial = async (place: Place): Promise<Socket> => {
    dialled.push(place);
    return connect(target);
  };
  const { entrances, api, put, settle } = await rig({ openTcpPort }, dial);
  const free = await answering(t);
  put(service());
  await settle();
  const at = { host: '127.96.255.254', port: free.port };
  const entrance = { service: 'default/web', port: { port: 80, protocol: 'TCP' }, at, kind: 'node port' } as const;
  assert.equal(await entrances.open(entrance), undefined);
  await assert.rejects(ask(at), /ECONNRESET|ended/);
  api.put(pathFor(ENDPOINT_SLICES, 'default', 'web-1'), slice(TWO.slice(0, 1)));
  await settle();
  assert.equal(await ask(at), 'said hello');
  assert.deepEqual(dialled, [{ host: '10.244.0.2', port: 8_080 }]);
  await entrances.stop();
});

async function ask(at: Place): Promise<string> {
  const socket = connect(at);
  socket.write('hello');
  const parts: string[] = [];
  for await (const part of socket) parts.push(String(part));
  if (parts.length === 0) throw new Error('the connection ended');
  return parts.join('');
}
