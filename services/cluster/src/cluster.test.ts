import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import {
  CONFIG_MAPS,
  type ConfigMap,
  DEPLOYMENTS,
  type Deployment,
  NAMESPACES,
  type Namespace,
  NODES,
  PODS,
} from '@holdfast/api';
import { createApiClient } from '@holdfast/client';
import { createHttpsTransport } from '@holdfast/client/https';
import { createSystemClock } from '@holdfast/platform';
import { type Cluster, type ClusterOptions, loadSnapshot, startCluster } from './index.ts';

const deployment = (name: string, replicas: number, command: string[] = []): Deployment => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name, namespace: 'default' },
  spec: {
    replicas,
    strategy: {},
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: { containers: [{ name: 'main', image: 'app', command, resources: {} }] },
    },
  },
  status: {},
});

/** How many requests with this verb the cluster has had. */
async function requestsOf(cluster: Cluster, verb: string): Promise<number> {
  const metrics = await (await cluster.fetch('/metrics')).text();
  const lines = metrics.split('\n').filter((line) => line.startsWith(`apiserver_request_total{verb="${verb}"`));
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
}

test('the start of a cluster lists each kind once for each component, and watches nearly none', async () => {
  await using cluster = await startCluster({ clock: 'virtual' });
  await cluster.settle();
  const [lists, watches] = [await requestsOf(cluster, 'LIST'), await requestsOf(cluster, 'WATCH')];
  assert.ok(lists > 40 && lists <= 80, `${lists} lists`);
  assert.ok(watches <= 5, `${watches} watches`);
});

const configMap = (name: string): ConfigMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'default' },
});

const namespace = (name: string): Namespace => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name },
  spec: {},
  status: {},
});

const podsOf = async ({ client }: Cluster): Promise<readonly string[]> =>
  (await client.list(PODS, { namespace: 'default' })).items.map(
    ({ metadata, status }) => `${metadata.name} ${metadata.uid} ${status?.phase} ${status?.startTime}`,
  );

test('on virtual time nothing waits for the machine, and everything follows the clock', async () => {
  await using cluster = await startCluster({ clock: 'virtual', hollowNodes: 2 });
  const began = cluster.now();
  const { client } = cluster;
  await client.create(DEPLOYMENTS, deployment('web', 3));
  await cluster.advance('5s');
  assert.deepEqual(
    (await podsOf(cluster)).map((pod) => pod.split(' ')[2]),
    ['Running', 'Running', 'Running'],
  );
  assert.equal(cluster.now() - began, 5_000);
  await client.create(NAMESPACES, namespace('goes'));
  await client.delete(NAMESPACES, { name: 'goes' });
  await cluster.settle();
  assert.equal(await client.find(NAMESPACES, { name: 'goes' }), undefined);
  assert.equal((await client.list(NODES)).items.length, 2);
});

test('graces and back-offs take virtual time: a lost node is noticed, a crashing container waits', async () => {
  await using cluster = await startCluster({ clock: 'virtual', hollowNodes: 1 });
  await cluster.client.create(DEPLOYMENTS, deployment('crashes', 1, ['exit-after', '1', '3']));
  await cluster.advance('10m');
  const [pod] = (await cluster.client.list(PODS)).items;
  const container = pod?.status?.containerStatuses?.[0];
  // 10, 20, 40, 80, 160 seconds of back-off, then five minutes.
  assert.equal(container?.restartCount, 6);
  assert.equal(container?.state?.waiting?.reason, 'CrashLoopBackOff');
});

test('the same seed gives the same names, uids and times; another seed gives others', async () => {
  const run = async (options: ClusterOptions): Promise<readonly string[]> => {
    await using cluster = await startCluster({ clock: 'virtual', hollowNodes: 2, ...options });
    await cluster.client.create(DEPLOYMENTS, deployment('web', 3));
    await cluster.advance('5s');
    return await podsOf(cluster);
  };
  const [first, second, other] = [await run({ seed: 7 }), await run({ seed: 7 }), await run({ seed: 8 })];
  assert.deepEqual(first, second);
  assert.notDeepEqual(first, other);
});

test('clusters of one process share nothing: objects, tokens and authorities', async () => {
  const [one, two] = await Promise.all([startCluster({ https: true }), startCluster({ https: true })]);
  try {
    await one.client.create(CONFIG_MAPS, configMap('only-here'));
    assert.equal(await two.client.find(CONFIG_MAPS, { namespace: 'default', name: 'only-here' }), undefined);
    const tokens = [one, two].map(({ kubeconfig }) => /token: (\S+)/.exec(kubeconfig)?.[1]);
    assert.notEqual(tokens[0], tokens[1]);
    const foreign = await one.fetch('/api/v1/namespaces', { headers: { authorization: `Bearer ${tokens[1]}` } });
    assert.equal(foreign.status, 401);
    const rootOf = async ({ client }: Cluster) =>
      (await client.get(CONFIG_MAPS, { namespace: 'default', name: 'kube-root-ca.crt' })).data?.['ca.crt'];
    assert.notEqual(await rootOf(one), await rootOf(two));
    const uidOf = async ({ client }: Cluster) => (await client.get(NAMESPACES, { name: 'kube-system' })).metadata.uid;
    assert.notEqual(await uidOf(one), await uidOf(two));
  } finally {
    await Promise.all([one.stop(), two.stop()]);
  }
});

test('a kubeconfig leads to the cluster over HTTPS, with watches, and time waits for such clients', async () => {
  await using cluster = await startCluster({ https: true, clock: 'virtual', hollowNodes: 1 });
  const [, ca = ''] = /certificate-authority-data: (\S+)/.exec(cluster.kubeconfig) ?? [];
  const [, token = ''] = /token: (\S+)/.exec(cluster.kubeconfig) ?? [];
  const clock = createSystemClock();
  const caPem = Buffer.from(ca, 'base64').toString();
  const transport = createHttpsTransport({ servers: [cluster.url], caPem, clock });
  const client = createApiClient({ transport, token, userAgent: 'operator' });
  // An operator: for every config map it makes a namespace.
  const ending = new AbortController();
  const watching = (async () => {
    const selection = { namespace: 'default', resourceVersion: '0', signal: ending.signal };
    for await (const { object } of client.watch(CONFIG_MAPS, selection))
      if (object.metadata.name?.startsWith('wish') === true)
        await client.create(NAMESPACES, namespace(object.metadata.name));
  })().catch(() => {});
  await cluster.client.create(CONFIG_MAPS, configMap('wish-1'));
  await cluster.until(() => cluster.client.find(NAMESPACES, { name: 'wish-1' }), '1h');
  await cluster.client.create(CONFIG_MAPS, configMap('wish-2'));
  await cluster.until(() => cluster.client.find(NAMESPACES, { name: 'wish-2' }), '1h');
  ending.abort();
  await watching;
  await transport.close();
});

test('a fork continues with objects, revisions, running pods and time, and neither cluster sees the other', async () => {
  await using cluster = await startCluster({ clock: 'virtual', hollowNodes: 2 });
  await cluster.client.create(DEPLOYMENTS, deployment('web', 3));
  await cluster.advance('1m');
  const before = await podsOf(cluster);
  const snapshot = await cluster.snapshot();
  await cluster.client.delete(DEPLOYMENTS, { namespace: 'default', name: 'web' });
  await cluster.advance('1m');
  assert.deepEqual(await podsOf(cluster), []);
  const forks = await Promise.all([snapshot.fork(), snapshot.fork()]);
  for (const fork of forks) {
    assert.equal(fork.now() + 60_000, cluster.now());
    await fork.advance('10m');
    assert.deepEqual(await podsOf(fork), before, 'the pods run on, none was started again');
    await fork.client.create(DEPLOYMENTS, deployment('more', 1));
    await fork.advance('5s');
  }
  const [first, second] = await Promise.all(forks.map(podsOf));
  assert.equal(first?.length, 4);
  assert.deepEqual(first, second, 'forks give the same ids');
  await Promise.all(forks.map((fork) => fork.stop()));
});

test('a container that ends by itself ends in the fork when it would have ended', async () => {
  await using cluster = await startCluster({ clock: 'virtual', hollowNodes: 1 });
  const main = { name: 'main', image: 'app', command: ['sleep', '60'], resources: {} };
  await cluster.client.create(PODS, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'once', namespace: 'default' },
    spec: { restartPolicy: 'Never', containers: [main] },
    status: {},
  });
  await cluster.advance('30s');
  await using fork = await (await cluster.snapshot()).fork();
  const phase = async (): Promise<string | undefined> =>
    (await fork.client.get(PODS, { namespace: 'default', name: 'once' })).status?.phase;
  await fork.advance('25s');
  assert.equal(await phase(), 'Running');
  await fork.advance('10s');
  assert.equal(await phase(), 'Succeeded');
});

test('restore takes a cluster back, and its kubeconfig stays', async () => {
  await using cluster = await startCluster({ https: true });
  const { kubeconfig } = cluster;
  const snapshot = await cluster.snapshot();
  await cluster.client.create(CONFIG_MAPS, configMap('later'));
  await cluster.restore(snapshot);
  assert.equal(await cluster.client.find(CONFIG_MAPS, { namespace: 'default', name: 'later' }), undefined);
  assert.equal(cluster.kubeconfig, kubeconfig);
});

test('a cluster with a SQLite store forks into memory, and refuses what it cannot restore', async (t) => {
  const store = { sqlite: makeFolder(t) };
  await using cluster = await startCluster({ store });
  const snapshot = await cluster.snapshot();
  await cluster.client.create(CONFIG_MAPS, configMap('later'));
  const refusal = { message: 'a SQLite store cannot continue from a snapshot' };
  await assert.rejects(cluster.restore(snapshot), refusal);
  await assert.rejects(snapshot.fork({ store: { sqlite: makeFolder(t) } }), refusal);
  assert.notEqual(await cluster.client.find(CONFIG_MAPS, { namespace: 'default', name: 'later' }), undefined);
  await using fork = await snapshot.fork();
  assert.equal(await fork.client.find(CONFIG_MAPS, { namespace: 'default', name: 'later' }), undefined);
});

test('a snapshot goes into a file and comes back; other files are refused in one sentence', async (t) => {
  const folder = makeFolder(t);
  const file = path.join(folder, 'snapshot.json');
  {
    await using cluster = await startCluster({ clock: 'virtual', hollowNodes: 1 });
    await cluster.client.create(DEPLOYMENTS, deployment('web', 2));
    await cluster.advance('10s');
    await (await cluster.snapshot()).write(file);
  }
  await using fork = await (await loadSnapshot(file)).fork();
  const before = await podsOf(fork);
  await fork.advance('5m');
  assert.equal(before.length, 2);
  assert.deepEqual(await podsOf(fork), before);
  for (const [name, text] of [
    ['text', 'hello'],
    ['number', '1'],
    ['other', '{"format":"else"}'],
    ['damaged', '{"format":"holdfast-snapshot/1","nowMs":1,"revision":1,"objects":[{}]}'],
  ] as const) {
    const other = path.join(folder, name);
    writeFileSync(other, text);
    await assert.rejects(loadSnapshot(other), { name: 'OperatorError', code: 'Snapshot' });
  }
  await assert.rejects(loadSnapshot(path.join(folder, 'absent')), { code: 'Snapshot' });
});

test('only the owner may read a snapshot file, also one that replaces a file with a wider mode', async (t) => {
  const folder = makeFolder(t);
  const file = path.join(folder, 'snapshot.json');
  writeFileSync(file, 'of another run', { mode: 0o644 });
  await using cluster = await startCluster();
  const snapshot = await cluster.snapshot();
  await snapshot.write(file);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.equal((await loadSnapshot(file)).size, snapshot.size);
  const taken = path.join(folder, 'folder');
  mkdirSync(taken);
  await assert.rejects(snapshot.write(taken), { code: 'Snapshot' });
  assert.deepEqual(readdirSync(folder).sort(), ['folder', 'snapshot.json'], 'no draft stays');
});

test('a cluster stops while a pod on virtual time is starting', async () => {
  const cluster = await startCluster({ clock: 'virtual', hollowNodes: 1 });
  const spec = { containers: [{ name: 'main', image: 'app', resources: {} }], nodeName: 'hollow-1' };
  const metadata = { name: 'begins', namespace: 'default' };
  await cluster.client.create(PODS, { apiVersion: 'v1', kind: 'Pod', metadata, spec, status: {} });
  await cluster.settle();
  await cluster.stop();
});

test('a user of its own has the rights that RBAC gives it', async () => {
  await using cluster = await startCluster();
  const operator = cluster.access({ name: 'operator' });
  assert.equal((await operator.fetch('/api/v1/namespaces')).status, 403);
  const admin = cluster.access({ name: 'second', groups: ['system:masters'] });
  assert.equal((await admin.fetch('/api/v1/namespaces')).status, 200);
});

test('fetch is that of the web platform', async () => {
  await using cluster = await startCluster();
  const body = JSON.stringify(configMap('posted'));
  const created = await cluster.fetch('/api/v1/namespaces/default/configmaps', { method: 'POST', body });
  assert.equal(created.status, 201);
  const list = await cluster.fetch('/api/v1/namespaces/default/configmaps?fieldSelector=metadata.name%3Dposted');
  const { items } = (await list.json()) as { readonly items: readonly ConfigMap[] };
  assert.deepEqual(
    items.map(({ metadata }) => metadata.name),
    ['posted'],
  );
  assert.equal((await cluster.fetch('/livez')).headers.get('content-type'), 'text/plain; charset=utf-8');
  await assert.rejects(cluster.fetch('api/v1'), { code: 'ClusterOption' });
});

test('mistakes are answered in one sentence with the next step', async () => {
  const refused = (options: object) =>
    assert.rejects(startCluster(options), { name: 'OperatorError', code: 'ClusterOption' });
  await refused({ node: 1 });
  await refused({ clock: 'fast' });
  await refused({ store: { sqlite: 'x' }, clock: 'virtual' });
  await refused({ hollowNodes: -1 });
  await refused({ hollowNodes: [{ name: 'a' }, { name: 'a' }] });
  await refused({ processNodes: 51 });
  await refused({ processNodes: Array.from({ length: 51 }, () => ({})) });
  await refused({ hollowNodes: [{ name: 'process-1' }], processNodes: 1 });
  await assert.rejects(startCluster({ processNodes: 1, clock: 'virtual' }), {
    message: 'process nodes run on real time',
    nextStep: "Use clock: 'real', or hollowNodes with clock: 'virtual'.",
  });
  await refused({ features: { toString: true } });
  await refused({ without: ['kubelet'] });
  await using cluster = await startCluster();
  assert.throws(() => cluster.kubeconfig, { message: /no HTTPS port/, nextStep: 'Start it with https: true.' });
  await assert.rejects(cluster.advance('5m'), { message: 'the cluster runs on real time' });
  await assert.rejects(cluster.advance('soon'), { message: '"soon" is not a duration' });
  await cluster.stop();
  await assert.rejects(cluster.fetch('/api'), { message: 'the cluster does not run' });
});

function makeFolder(t: TestContext): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-cluster-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
