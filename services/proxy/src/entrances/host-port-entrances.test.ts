import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { describe, test } from 'node:test';
import { type ContainerPort, EVENTS, type Event, PODS, type Pod, type PodSpec } from '@holdfast/api';
import { createApiClient, createDirectTransport } from '@holdfast/client';
import { FakeApi, pathFor } from '@holdfast/client/testing';
import { createIds, createSeededRandom, createSilentLog } from '@holdfast/platform';
import { createVirtualClock } from '@holdfast/platform/testing';
import { ENTRANCE_RETRY_MS, HOST_PORTS_MAX, HOST_PORTS_PER_POD_MAX } from '../limits.ts';
import { HostPortEntrances } from './host-port-entrances.ts';
import type { OpenTcpPort, OpenUdpPort, Place } from './port.ts';

interface Sketch {
  readonly namespace?: string;
  readonly name?: string;
  readonly ip?: string;
  readonly phase?: string;
  readonly spec?: Partial<PodSpec>;
}

const pod = (
  ports: readonly ContainerPort[],
  { namespace = 'default', name = 'web', ip = '10.244.0.2', phase = 'Running', spec = {} }: Sketch = {},
): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { namespace, name, uid: `uid-${name}`, creationTimestamp: '2026-01-01T00:00:00Z' },
  spec: { nodeName: 'a', containers: [{ name: 'main', ports: [...ports], resources: {} }], ...spec },
  status: { phase, ...(ip === '' ? {} : { podIP: ip }) },
});

const HTTP = { containerPort: 80, hostPort: 8_080 } as const;

/** A machine whose ports are a map. Ports in `taken` belong to another program. */
function rig() {
  const clock = createVirtualClock();
  const api = new FakeApi(clock);
  const random = createSeededRandom(1, 'host ports');
  const open = new Map<string, (socket: Socket) => void>();
  const taken = new Set<string>();
  const openTcpPort: OpenTcpPort = async ({ host, port }, accept) => {
    const at = `${host}:${port}`;
    if (taken.has(at)) throw new Error(`listen EADDRINUSE: ${at}`);
    open.set(at, accept);
    return { close: async () => void open.delete(at) };
  };
  const datagrams = new Map<string, Parameters<OpenUdpPort>[1]>();
  const dialled: Place[] = [];
  const target = Promise.withResolvers<Place>();
  const entrances = new HostPortEntrances({
    client: createApiClient({ transport: createDirectTransport(api.handler), userAgent: 'test' }),
    clock,
    random,
    ids: createIds(random),
    log: createSilentLog(),
    nodeNames: ['a'],
    openTcpPort,
    openUdpPort: async ({ host, port }, accept) => {
      datagrams.set(`${host}:${port}`, accept);
      return { close: async () => void datagrams.delete(`${host}:${port}`) };
    },
    dialDatagrams: async (place, listener) => {
      dialled.push(place);
      return { send: (bytes) => listener.message(bytes), close: () => undefined };
    },
    dial: async (place) => {
      dialled.push(place);
      return connect(await target.promise);
    },
  });
  const path = (name: string, namespace = 'default') => pathFor(PODS, namespace, name);
  return {
    clock,
    entrances,
    taken,
    dialled,
    datagrams,
    leadTo: target.resolve,
    arrive: (at: string, socket: Socket): void => open.get(at)?.(socket),
    ports: () => [...open.keys()].toSorted(),
    settle: () => clock.advance(100),
    put: (object: Pod) => void api.put(path(object.metadata.name ?? '', object.metadata.namespace), object),
    remove: (name: string) => api.remove(path(name)),
    events: () =>
      [...api.objects()].flatMap(([where, object]) => (where.includes(`/${EVENTS.plural}/`) ? [object as Event] : [])),
  };
}

async function begun(): Promise<ReturnType<typeof rig>> {
  const to = rig();
  const started = to.entrances.start();
  await to.settle();
  await started;
  return to;
}

describe('host ports of pods with a network of their own', () => {
  test('are open at their address while the pod has one and runs', async () => {
    const to = await begun();
    to.put(pod([HTTP, { containerPort: 81 }, { containerPort: 82, hostPort: 82, hostIP: '127.0.0.1' }], { ip: '' }));
    await to.settle();
    assert.deepEqual(to.ports(), []);
    to.put(pod([HTTP, { containerPort: 81 }, { containerPort: 82, hostPort: 82, hostIP: '127.0.0.1' }]));
    await to.settle();
    assert.deepEqual(to.ports(), ['0.0.0.0:8080', '127.0.0.1:82']);
    to.put(pod([HTTP], { phase: 'Succeeded' }));
    await to.settle();
    assert.deepEqual(to.ports(), []);
    to.put(pod([HTTP], { name: 'of-machine', spec: { hostNetwork: true } }));
    await to.settle();
    assert.deepEqual(to.ports(), [], 'such a pod listens itself');
    to.put(pod([HTTP]));
    await to.settle();
    to.remove('web');
    await to.settle();
    assert.deepEqual(to.ports(), []);
    await to.entrances.stop();
  });

  test('that another program or pod has are told once, and opened when they are free', async () => {
    const to = await begun();
    to.taken.add('0.0.0.0:8080');
    to.put(pod([HTTP]));
    await to.clock.advance(ENTRANCE_RETRY_MS * 2);
    assert.deepEqual(to.ports(), []);
    const [event, ...more] = to.events();
    assert.deepEqual([event?.reason, event?.involvedObject.name, more.length], ['HostPortNotOpened', 'web', 0]);
    assert.match(event?.message ?? '', /8080.*EADDRINUSE/);
    to.taken.clear();
    await to.clock.advance(ENTRANCE_RETRY_MS);
    assert.deepEqual(to.ports(), ['0.0.0.0:8080']);
    to.put(pod([HTTP], { name: 'web-2', ip: '10.244.0.3' }));
    await to.settle();
    to.remove('web');
    await to.settle();
    assert.deepEqual(to.ports(), ['0.0.0.0:8080'], 'the next pod has it');
    await to.entrances.stop();
    assert.deepEqual(to.ports(), []);
  });

  test('are bounded for one pod', async () => {
    const to = await begun();
    const many = Array.from({ length: HOST_PORTS_PER_POD_MAX + 5 }, (_, i) => ({ containerPort: 80, hostPort: 1 + i }));
    to.put(pod(many));
    await to.settle();
    assert.equal(to.ports().length, HOST_PORTS_PER_POD_MAX);
    await to.entrances.stop();
  });

  test('are shared by namespaces: many pods of one leave ports to a pod of another', async () => {
    const to = await begun();
    const portsOf = (index: number): ContainerPort[] =>
      Array.from({ length: HOST_PORTS_PER_POD_MAX }, (_, i) => ({
        containerPort: 80,
        hostPort: 1 + index * HOST_PORTS_PER_POD_MAX + i,
      }));
    for (let i = 0; i < HOST_PORTS_MAX / HOST_PORTS_PER_POD_MAX; i++) to.put(pod(portsOf(i), { name: `pod-${i}` }));
    await to.settle();
    assert.equal(to.ports().length, HOST_PORTS_MAX);
    to.put(pod([{ containerPort: 80, hostPort: 60_000 }], { name: 'late', namespace: 'other' }));
    await to.settle();
    assert.equal(to.ports().length, HOST_PORTS_MAX);
    assert.ok(to.ports().includes('0.0.0.0:60000'));
    assert.deepEqual(
      to.events().map(({ message }) => message),
      ['Host port 1000 cannot be opened at 0.0.0.0 of this machine, it is tried again: all 1000 host ports are shared'],
    );
    await to.entrances.stop();
  });

  test('carry datagrams beside a TCP port of the same number, and answers to their client', async () => {
    const to = await begun();
    to.put(pod([HTTP, { ...HTTP, containerPort: 53, protocol: 'UDP' }, { ...HTTP, protocol: 'SCTP' }]));
    await to.settle();
    assert.deepEqual([to.ports(), [...to.datagrams.keys()]], [['0.0.0.0:8080'], ['0.0.0.0:8080']]);
    const answer = Promise.withResolvers<string>();
    const client = { address: '192.0.2.1', port: 7, answer: (bytes: Uint8Array) => answer.resolve(String(bytes)) };
    to.datagrams.get('0.0.0.0:8080')?.(Buffer.from('question'), client);
    assert.equal(await answer.promise, 'question');
    assert.deepEqual(to.dialled, [{ host: '10.244.0.2', port: 53 }]);
    to.remove('web');
    await to.settle();
    assert.deepEqual([to.ports(), to.datagrams.size], [[], 0]);
    await to.entrances.stop();
  });

  test('lead to the port of the container, at the address that the pod has now', async (t) => {
    const server = createServer((socket) => socket.end('hello')).listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => server.close());
    const to = await begun();
    to.leadTo({ host: '127.0.0.1', port: (server.address() as AddressInfo).port });
    to.put(pod([HTTP], { ip: '10.244.0.9' }));
    await to.settle();
    to.put(pod([HTTP]));
    await to.settle();
    const arrive = (socket: Socket): void => to.arrive('0.0.0.0:8080', socket);
    const front = createServer({ allowHalfOpen: true, pauseOnConnect: true }, arrive).listen(0, '127.0.0.1');
    await once(front, 'listening');
    t.after(() => front.close());
    const client = connect((front.address() as AddressInfo).port, '127.0.0.1');
    assert.equal(String((await once(client, 'data'))[0]), 'hello');
    assert.deepEqual(to.dialled, [{ host: '10.244.0.2', port: 80 }]);
    client.destroy();
    await to.entrances.stop();
  });
});
