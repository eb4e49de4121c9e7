import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { before, test } from 'node:test';
import { CoreV1Api, makeInformer, type V1ConfigMap, Watch } from '@kubernetes/client-node';
import { HoldfastProcess } from '../support/holdfast-process.ts';
import { loadKubeConfig } from '../support/javascript-client.ts';
import { SeverableProxy } from '../support/severable-proxy.ts';
import { waitFor } from '../support/wait.ts';
import { resourcesOfFile } from '../support/walked-cluster.ts';

const namespace = 'default';
const CONFIG_MAPS = `/api/v1/namespaces/${namespace}/configmaps`;
/** The server publishes this one by itself. */
const ROOT_CERTIFICATE = 'kube-root-ca.crt';

let dataDir: string;
let cluster: HoldfastProcess;
let proxy: SeverableProxy;
/** Straight to the server, past the proxy. */
let direct: CoreV1Api;

const portOf = (url: string): number => Number(new URL(url).port);
const connect = (): CoreV1Api => loadKubeConfig(cluster.ready.kubeconfig).makeApiClient(CoreV1Api);

const resources = resourcesOfFile();
before(async () => {
  dataDir = mkdtempSync(path.join(tmpdir(), 'holdfast-informer-'));
  resources.defer(() => rmSync(dataDir, { recursive: true, force: true }));
  cluster = await HoldfastProcess.start([], dataDir);
  resources.defer(() => cluster[Symbol.asyncDispose]());
  proxy = resources.use(await SeverableProxy.start(portOf(cluster.ready.url)));
  direct = connect();
});

const put = (name: string, value: string): Promise<V1ConfigMap> =>
  direct.createNamespacedConfigMap({ namespace, body: { metadata: { name }, data: { value } } });
const change = async (name: string, value: string): Promise<V1ConfigMap> => {
  const { metadata = {} } = await direct.readNamespacedConfigMap({ name, namespace });
  return direct.replaceNamespacedConfigMap({ name, namespace, body: { metadata, data: { value } } });
};
const remove = (name: string): Promise<unknown> => direct.deleteNamespacedConfigMap({ name, namespace });

interface Watched {
  /** The events in order: `add a=1`. */
  readonly heard: string[];
  readonly errors: unknown[];
  readonly stop: () => Promise<void>;
}

/** An informer through the proxy; restarted on errors, as its documentation recommends. */
async function inform(): Promise<Watched> {
  const config = loadKubeConfig(cluster.ready.kubeconfig, proxy.port);
  const api = config.makeApiClient(CoreV1Api);
  const informer = makeInformer(config, CONFIG_MAPS, () => api.listNamespacedConfigMap({ namespace }));
  const heard: string[] = [];
  const errors: unknown[] = [];
  for (const verb of ['add', 'update', 'delete']) {
    informer.on(verb, ({ metadata, data }) => {
      if (metadata?.name !== ROOT_CERTIFICATE) heard.push(`${verb} ${metadata?.name}=${data?.['value']}`);
    });
  }
  let isStopped = false;
  informer.on('error', (error: unknown) => {
    if (isStopped) return;
    errors.push(error);
    void informer.start();
  });
  await informer.start();
  const stop = async (): Promise<void> => {
    isStopped = true;
    await informer.stop();
  };
  return { heard, errors, stop };
}

const hear = ({ heard }: Watched, what: string): Promise<unknown> => waitFor(what, () => heard.includes(what));

test('an informer reports existing, added, changed and deleted objects', async (t) => {
  await put('there', '1');
  const watched = await inform();
  t.after(watched.stop);
  await hear(watched, 'add there=1');
  await put('new', '1');
  await hear(watched, 'add new=1');
  await change('new', '2');
  await hear(watched, 'update new=2');
  await remove('new');
  await hear(watched, 'delete new=2');
  await remove('there');
  await hear(watched, 'delete there=1');
  assert.deepEqual(watched.heard, ['add there=1', 'add new=1', 'update new=2', 'delete new=2', 'delete there=1']);
  assert.deepEqual(watched.errors, []);
});

test('an informer with a cut connection reports the missed changes afterwards', async (t) => {
  const watched = await inform();
  t.after(watched.stop);
  await put('before-cut', '1');
  await hear(watched, 'add before-cut=1');
  proxy.cut();
  await change('before-cut', '2');
  await put('during-cut', '1');
  await hear(watched, 'update before-cut=2');
  await hear(watched, 'add during-cut=1');
  await remove('before-cut');
  await remove('during-cut');
  await hear(watched, 'delete during-cut=1');
});

interface Frame {
  readonly type: string;
  readonly object: {
    readonly code?: number;
    readonly reason?: string;
    readonly metadata?: { readonly name?: string; readonly resourceVersion?: string };
  };
}

/** A bare watch from a resource version. */
async function watchFrom(resourceVersion: string): Promise<{ frames: Frame[]; stop: () => void }> {
  const frames: Frame[] = [];
  const keep = (_phase: string, _object: unknown, frame: Frame): unknown => frames.push(frame);
  const watch = new Watch(loadKubeConfig(cluster.ready.kubeconfig));
  const controller = await watch.watch(CONFIG_MAPS, { resourceVersion }, keep, () => {});
  return { frames, stop: () => controller.abort() };
}

test('a watch resumes after its resource version: nothing twice, nothing missing', async (t) => {
  const first = await put('resumed', '1');
  await change('resumed', '2');
  await change('resumed', '3');
  await remove('resumed');
  const { frames, stop } = await watchFrom(first.metadata?.resourceVersion ?? '');
  t.after(stop);
  await waitFor('three events', () => frames.length === 3);
  assert.deepEqual(
    frames.map((frame) => frame.type),
    ['MODIFIED', 'MODIFIED', 'DELETED'],
  );
  const versions = frames.map((frame) => Number(frame.object.metadata?.resourceVersion));
  assert.deepEqual(
    versions,
    versions.toSorted((a, b) => a - b),
  );
  assert.ok((versions[0] ?? 0) > Number(first.metadata?.resourceVersion));
});

test('after a server restart an informer matches the server again, and an old watch gets 410', async (t) => {
  const old = await put('kept', '1');
  await put('doomed', '1');
  const watched = await inform();
  t.after(watched.stop);
  await hear(watched, 'add doomed=1');
  await cluster.stop();
  cluster = await HoldfastProcess.start([], dataDir);
  direct = connect();
  await remove('doomed');
  await change('kept', '2');
  proxy.lead(portOf(cluster.ready.url));
  await hear(watched, 'update kept=2');
  await hear(watched, 'delete doomed=1');
  const { frames, stop } = await watchFrom(old.metadata?.resourceVersion ?? '');
  t.after(stop);
  const answer = await waitFor('an answer', () => frames[0]);
  assert.deepEqual([answer.type, answer.object.code, answer.object.reason], ['ERROR', 410, 'Expired']);
});
