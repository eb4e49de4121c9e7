import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CONFIG_MAPS, type ConfigMap, type KubeObject, PODS, type Pod } from '@holdfast/api';
import { createApiServer } from '@holdfast/apiserver';
import { createRelay } from '@holdfast/apiserver/relay';
import { type Bus, nodePodsPattern } from '@holdfast/bus';
import { eventually } from '@holdfast/bus/contract';
import { createNatsBus } from '@holdfast/bus/nats';
import {
  type ApiClient,
  createApiClient,
  createDirectTransport,
  createInformer,
  type Informer,
} from '@holdfast/client';
import { createIds, createSeededRandom, createSilentLog, createSystemClock } from '@holdfast/platform';
import { createMemoryStore } from '@holdfast/store/memory';
import { type Faults, withFaults } from '../support/faulty-bus.ts';
import { startNatsServer } from '../support/nats-server.ts';

const NODES = ['node-1', 'node-2'];
const ADMIN = { name: 'admin', groups: ['system:masters', 'system:authenticated'] };

const STORM: Faults = { loss: 0.2, doubling: 0.3, delayMs: 40 };

const WEATHER: readonly [string, Faults, boolean, { readonly syncsAlways?: boolean }?][] = [
  ['fair', { loss: 0, doubling: 0, delayMs: 0 }, false],
  ['lost', { loss: 0.3, doubling: 0, delayMs: 0 }, false],
  ['doubled and reordered', { loss: 0, doubling: 0.5, delayMs: 40 }, false],
  ['lost, doubled, delayed, and nats-server killed twice', STORM, true],
  ['lost, doubled, delayed, and nats-server loses its last ones twice', STORM, true, { syncsAlways: true }],
];

const pod = (name: string): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'default' },
  spec: { containers: [{ name: 'main', image: 'any', resources: {} }] },
  status: {},
});

const configMap = (name: string): ConfigMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'default' },
});

function stateOf(objects: readonly KubeObject[]): Record<string, string | undefined> {
  const entries = objects.map((each) => [each.metadata.name ?? '', each.metadata.resourceVersion] as const);
  return Object.fromEntries(entries.toSorted(([a], [b]) => a.localeCompare(b)));
}

/** Remembers every step back in time that a copy took. */
function watchOrder(informer: Informer<Pod>): readonly string[] {
  const wrong: string[] = [];
  const seen = new Map<string, number>();
  informer.onChange(({ key, object }) => {
    const revision = Number(object?.metadata.resourceVersion ?? 0);
    if (object !== undefined && revision <= (seen.get(key) ?? 0)) wrong.push(`${key} went back to ${revision}`);
    seen.set(key, Math.max(revision, seen.get(key) ?? 0));
  });
  return wrong;
}

/** Creates, binds, labels and deletes pods and writes ConfigMaps. */
async function play(admin: ApiClient, random: ReturnType<typeof createSeededRandom>, round: number): Promise<void> {
  const names = Array.from({ length: 10 }, (_, i) => `p-${i}`);
  for (const name of names) {
    const target = { namespace: 'default', name };
    const found = await admin.find(PODS, target);
    const dice = random.int(4);
    if (found === undefined) await admin.create(PODS, pod(name));
    else if (dice === 0) await admin.delete(PODS, target, { gracePeriodSeconds: 0 });
    else if (found.spec?.nodeName === undefined) {
      await admin.bind(target, NODES[random.int(NODES.length)] ?? '', found.metadata.uid ?? '');
    } else {
      const body = { metadata: { labels: { round: `${round}` } } };
      await admin.patch(PODS, target, { type: 'merge', body });
    }
  }
  const map = { namespace: 'default', name: `m-${round}` };
  await admin.create(CONFIG_MAPS, configMap(map.name));
  if (round % 2 === 0) await admin.delete(CONFIG_MAPS, map);
}

for (const [weather, faults, serverDies, servers] of WEATHER) {
  test(`[TEST-10] copies end equal to the store when bus messages are ${weather}`, async () => {
    const clock = createSystemClock();
    const random = createSeededRandom(20_261_120, weather);
    const log = createSilentLog();
    const machine = { clock, random, ids: createIds(random), log };
    await using server = await startNatsServer(servers);
    const store = createMemoryStore();
    const api = createApiServer({ ...machine, store, tokens: new Map([['admin', ADMIN]]) });
    const publisher = createNatsBus({ servers: [server.url], role: 'publisher', clock, log });
    const relay = createRelay({ store, bus: publisher, ...machine });
    const transport = createDirectTransport(api.handle);
    const admin = createApiClient({ transport, token: 'admin', userAgent: 'test' });
    const consumers: Bus[] = [];
    let delivered = 0;
    const onDelivered = (): void => {
      delivered += 1;
    };
    const follow = <T extends KubeObject>(
      options: Pick<Parameters<typeof createInformer<T>>[0], 'resource' | 'selection' | 'subjects'>,
    ): Informer<T> => {
      const connection = createNatsBus({ servers: [server.url], role: 'consumer', clock, log });
      consumers.push(connection);
      return createInformer<T>({
        client: admin,
        bus: withFaults(connection, { clock, random, faults, onDelivered }),
        ...machine,
        ...options,
      });
    };
    const selection = { fieldSelector: 'spec.nodeName=node-1' };
    const all = follow<Pod>({ resource: PODS });
    const own = follow<Pod>({ resource: PODS, selection, subjects: [nodePodsPattern('node-1')] });
    const maps = follow<ConfigMap>({ resource: CONFIG_MAPS });
    const services = [api, relay, all, own, maps];
    for (const service of services) await service.start();
    try {
      const wrong = [watchOrder(all), watchOrder(own)];
      for (let round = 0; round < 20; round++) {
        await play(admin, random, round);
        if (serverDies && round % 8 === 4) await server.restart();
        // Without its own I/O the API would finish before the bus has started.
        await eventually(async () => relay.revision() === (await store.currentRevision()), 'the relay keeps up');
      }
      const equal = async (): Promise<boolean> => {
        const pods = (await admin.list(PODS)).items;
        const bound = pods.filter((each) => each.spec?.nodeName === 'node-1');
        const stored = [stateOf(pods), stateOf(bound), stateOf((await admin.list(CONFIG_MAPS)).items)];
        const copies = [stateOf(all.list()), stateOf(own.list()), stateOf(maps.list())];
        return JSON.stringify(copies) === JSON.stringify(stored);
      };
      await eventually(equal, 'every copy equals the store');
      assert.deepEqual(wrong, [[], []]);
      assert.ok(delivered > 100, `${delivered} messages came by the bus`);
    } finally {
      for (const service of services.toReversed()) await service.stop();
      for (const bus of [...consumers, publisher]) await bus.close();
      await store.close();
    }
  });
}
