import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CONFIG_MAPS } from '@holdfast/api';
import { createMemoryStore } from '@holdfast/store/memory';
import { SimulatedProcess, SimulationKernel } from '@holdfast/testing';
import { SimCluster } from '../cluster.ts';
import { createFaultyStore, goodWay } from './faulty-store.ts';
import { checkFollowers, checkServed, differences } from './knowledge.ts';

const UP_MS = 20_000;
const BUS_TRUSTED_MS = 65_000;
const LOST_MS = 60_000;

test('what changes while it is looked at may be seen in either way', () => {
  const [before, after] = [
    ['a at 1', 'b at 1'],
    ['a at 1', 'b at 2'],
  ];
  for (const seen of [before, after]) assert.deepEqual(differences(before, after, seen), []);
  assert.deepEqual(differences(before, after, ['b at 2']), ['a at 1']);
  assert.deepEqual(differences(before, after, ['a at 1', 'c at 3']), ['c at 3']);
});

const settings = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'default', name } });

test('who does not know an object that is stored is told from who knows it', async () => {
  const cluster = new SimCluster({ seed: 1, nodes: 1, identities: /^/ });
  cluster.start();
  const informer = cluster.follow('observer', CONFIG_MAPS);
  await cluster.kernel.runFor(UP_MS + BUS_TRUSTED_MS);
  const followers = [{ kind: CONFIG_MAPS, informer }];
  checkFollowers(cluster, followers);
  const end = cluster.channels.worsen('observer', 'configmaps', { isLost: true });
  await cluster.ask(cluster.admin.create(CONFIG_MAPS, settings('lost')));
  assert.throws(() => checkFollowers(cluster, followers), /who follows a kind .* ConfigMap default\/lost at \d+$/);
  end();
  await cluster.kernel.runFor(LOST_MS);
  checkFollowers(cluster, followers);
});

test('an API server that shows less than what is stored is found', async () => {
  const cluster = new SimCluster({ seed: 1, nodes: 1, identities: /^/ });
  cluster.start();
  await cluster.kernel.runFor(UP_MS);
  await cluster.ask(cluster.admin.create(CONFIG_MAPS, settings('kept')));
  await checkServed(cluster);
  const [stored] = (await cluster.store.list('core/configmaps/default/kept')).objects;
  assert.ok(stored !== undefined);
  // The state that the rule has of the store, with an object that no server has heard of.
  const value = stored.value.replace('kept', 'hidden');
  const operation = { kind: 'create', key: stored.key.replace('kept', 'hidden'), value } as const;
  cluster.committed.apply({ revision: stored.revision + 1, operation });
  await assert.rejects(checkServed(cluster), /an API server shows .* apiserver:, ConfigMap default\/hidden at \d+$/);
});

test('a load takes several pages, of different moments', async () => {
  const kernel = new SimulationKernel(1);
  const machine = new SimulatedProcess(kernel, 'apiserver').boot();
  const store = createMemoryStore();
  const add = async (i: number): Promise<void> => {
    await store.write([{ kind: 'create', key: `core/configmaps/n/c${100 + i}`, value: '{}' }]);
  };
  for (let i = 0; i < 100; i++) await add(i);
  const far = createFaultyStore(store, machine, { ...goodWay(), latencyMs: 1_000 });
  let page: Awaited<ReturnType<typeof store.list>> | undefined;
  void far.list('', { limit: 500 }).then((read) => (page = read));
  await kernel.runFor(10_000);
  assert.ok(page?.more === true && page.objects.length < 100, `${page?.objects.length} objects in a page`);
});
