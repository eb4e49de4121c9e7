import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CONFIG_MAPS, DEPLOYMENTS, type Deployment, NAMESPACES, PODS } from '@holdfast/api';
import { type Cluster, type Snapshot, startCluster } from './index.ts';

const deployment = (name: string): Deployment => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name, namespace: 'default' },
  spec: {
    replicas: 2,
    strategy: {},
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: { containers: [{ name: 'main', image: 'app', resources: {} }] },
    },
  },
  status: {},
});

async function prepared(): Promise<Snapshot> {
  await using cluster = await startCluster({ clock: 'virtual', hollowNodes: 2 });
  await cluster.client.create(DEPLOYMENTS, deployment('web'));
  await cluster.advance('30s');
  return await cluster.snapshot();
}

const podNames = async ({ client }: Cluster): Promise<readonly string[]> =>
  (await client.list(PODS, { namespace: 'default' })).items.map(({ metadata }) => metadata.name ?? '');

async function listsServed(cluster: Cluster): Promise<number> {
  const metrics = await (await cluster.fetch('/metrics')).text();
  const lines = metrics.split('\n').filter((line) => line.startsWith('apiserver_request_total{verb="LIST"'));
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
}

test('a later fork has the caches of its controllers from the first one, and they act on them', async () => {
  const snapshot = await prepared();
  await using first = await snapshot.fork();
  await using second = await snapshot.fork();
  const [served, servedLater] = [await listsServed(first), await listsServed(second)];
  assert.ok(served > 40, `${served} lists`);
  assert.ok(servedLater < 10, `${servedLater} lists`);
  const [gone = '', kept = ''] = await podNames(second);
  await second.client.delete(PODS, { namespace: 'default', name: gone });
  await second.advance('1m');
  const names = await podNames(second);
  assert.ok(names.includes(kept) && !names.includes(gone) && names.length === 2, names.join());
});

test('what happens in a fork reaches neither another fork nor the caches of its controllers', async () => {
  const snapshot = await prepared();
  const web = { namespace: 'default', name: 'web' };
  await using first = await snapshot.fork();
  await first.client.patch(DEPLOYMENTS, web, { type: 'merge', body: { spec: { replicas: 5 } } });
  await first.advance('10s');
  assert.equal((await podNames(first)).length, 5);
  await using second = await snapshot.fork();
  await second.advance('10s');
  assert.equal((await podNames(second)).length, 2);
  await first.client.delete(DEPLOYMENTS, web);
  await first.advance('2m');
  assert.deepEqual(await podNames(first), []);
  await second.client.patch(DEPLOYMENTS, web, { type: 'merge', body: { spec: { replicas: 3 } } });
  await second.advance('10s');
  assert.equal((await podNames(second)).length, 3);
});

test('all forks of a snapshot do the same, those that share caches and the first one', async () => {
  const snapshot = await prepared();
  const ends: unknown[] = [];
  for (let i = 0; i < 3; i++) {
    await using fork = await snapshot.fork();
    await fork.client.create(DEPLOYMENTS, deployment('more'));
    await fork.client.create(NAMESPACES, {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'extra' },
      spec: {},
      status: {},
    });
    await fork.advance('20s');
    ends.push((await fork.snapshot()).content.state.objects);
  }
  assert.deepEqual(ends[1], ends[0]);
  assert.deepEqual(ends[2], ends[0]);
});

test('a fork gives no uid again that a cluster gave before it: not its origin, and not the fork that it comes from', async () => {
  const uidIn = async ({ client }: Cluster, name: string): Promise<string> => {
    const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'default' } };
    return (await client.create(CONFIG_MAPS, map)).metadata.uid ?? '';
  };
  await using cluster = await startCluster({ clock: 'virtual' });
  const first = await uidIn(cluster, 'first');
  await using fork = await (await cluster.snapshot()).fork();
  const second = await uidIn(fork, 'second');
  await using next = await (await fork.snapshot()).fork();
  const third = await uidIn(next, 'third');
  assert.equal(new Set([first, second, third]).size, 3, `${first} ${second} ${third}`);
});
