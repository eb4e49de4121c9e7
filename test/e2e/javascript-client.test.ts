import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { after, before, test } from 'node:test';
import {
  ApiException,
  AppsV1Api,
  AuthorizationV1Api,
  BatchV1Api,
  CoreV1Api,
  type KubernetesObject,
  KubernetesObjectApi,
  Log,
  PatchStrategy,
  setHeaderOptions,
  VersionApi,
} from '@kubernetes/client-node';
import { HoldfastProcess } from '../support/holdfast-process.ts';
import { loadKubeConfig } from '../support/javascript-client.ts';
import { waitFor } from '../support/wait.ts';

const namespace = 'default';
let cluster: HoldfastProcess;
let core: CoreV1Api;
let apps: AppsV1Api;
let objects: KubernetesObjectApi;

before(async () => {
  cluster = await HoldfastProcess.start(['--memory']);
  const config = loadKubeConfig(cluster.ready.kubeconfig);
  core = config.makeApiClient(CoreV1Api);
  apps = config.makeApiClient(AppsV1Api);
  objects = KubernetesObjectApi.makeApiClient(config);
});
after(() => cluster[Symbol.asyncDispose]());

const refusedWith =
  (code: number, reason: string) =>
  (error: unknown): boolean => {
    assert.ok(error instanceof ApiException, String(error));
    assert.equal(error.code, code);
    const body: unknown = typeof error.body === 'string' ? JSON.parse(error.body) : error.body;
    assert.equal((body as { reason: string }).reason, reason);
    return true;
  };
const container = { name: 'main', image: 'busybox', command: ['sleep', '3600'] };
const deploymentOf = (
  name: string,
  replicas: number,
): Parameters<AppsV1Api['createNamespacedDeployment']>[0]['body'] => ({
  metadata: { name },
  spec: {
    replicas,
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: { containers: [container] } },
  },
});

test('objects are created, read, replaced, listed and deleted through the typed client', async () => {
  const made = await core.createNamespacedConfigMap({
    namespace,
    body: { metadata: { name: 'typed', labels: { by: 'client' } }, data: { a: '1' } },
  });
  assert.equal(typeof made.metadata?.creationTimestamp?.getTime(), 'number');
  const replaced = await core.replaceNamespacedConfigMap({
    name: 'typed',
    namespace,
    body: { metadata: made.metadata ?? {}, data: { a: '2' } },
  });
  assert.notEqual(replaced.metadata?.resourceVersion, made.metadata?.resourceVersion);
  const listed = await core.listNamespacedConfigMap({ namespace, labelSelector: 'by=client' });
  assert.deepEqual(
    listed.items.map((each) => each.data),
    [{ a: '2' }],
  );
  const stale = core.replaceNamespacedConfigMap({ name: 'typed', namespace, body: made });
  await assert.rejects(stale, refusedWith(409, 'Conflict'));
  await core.deleteNamespacedConfigMap({ name: 'typed', namespace });
  await assert.rejects(core.readNamespacedConfigMap({ name: 'typed', namespace }), refusedWith(404, 'NotFound'));
});

test('a paged list contains every object once', async () => {
  const names = Array.from({ length: 7 }, (_, index) => `paged-${index}`);
  for (const name of names)
    await core.createNamespacedConfigMap({ namespace, body: { metadata: { name, labels: { paged: 'yes' } } } });
  const seen: string[] = [];
  let token: string | undefined;
  do {
    const page = await core.listNamespacedConfigMap({
      namespace,
      labelSelector: 'paged=yes',
      limit: 3,
      ...(token === undefined ? {} : { _continue: token }),
    });
    seen.push(...page.items.map((each) => each.metadata?.name ?? ''));
    token = page.metadata?._continue;
  } while (token !== undefined && token !== '');
  assert.deepEqual(seen, names);
});

test('JSON, merge, strategic and apply patches have the semantics of their types', async () => {
  await apps.createNamespacedDeployment({ namespace, body: deploymentOf('patched', 0) });
  const patch = (type: string, body: object): Promise<unknown> =>
    apps.patchNamespacedDeployment(
      { name: 'patched', namespace, body, fieldManager: 'tests', force: true },
      setHeaderOptions('Content-Type', type),
    );
  await assert.rejects(
    patch(PatchStrategy.MergePatch, { metadata: { labels: { a: '1' } } }),
    refusedWith(422, 'Invalid'),
  );
  const merge = (type: string, body: object): Promise<unknown> =>
    apps.patchNamespacedDeployment({ name: 'patched', namespace, body }, setHeaderOptions('Content-Type', type));
  await merge(PatchStrategy.MergePatch, { metadata: { labels: { a: '1' } } });
  await merge(PatchStrategy.JsonPatch, [{ op: 'add', path: '/metadata/labels/b', value: '2' }]);
  const sidecar = { spec: { template: { spec: { containers: [{ name: 'side', image: 'side:1' }] } } } };
  await merge(PatchStrategy.StrategicMergePatch, sidecar);
  await patch(PatchStrategy.ServerSideApply, {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'patched', labels: { c: '3' } },
  });
  const { metadata, spec } = await apps.readNamespacedDeployment({ name: 'patched', namespace });
  assert.deepEqual(metadata?.labels, { a: '1', b: '2', c: '3' });
  const names = spec?.template.spec?.containers.map((each) => each.name) ?? [];
  assert.deepEqual(names.toSorted(), ['main', 'side']);
  await apps.deleteNamespacedDeployment({ name: 'patched', namespace });
});

test('a Deployment runs, is scaled through its scale, and is deleted with its pods', async () => {
  await apps.createNamespacedDeployment({ namespace, body: deploymentOf('run', 1) });
  const ready = async (): Promise<number> =>
    (await apps.readNamespacedDeploymentStatus({ name: 'run', namespace })).status?.readyReplicas ?? 0;
  await waitFor('one ready', async () => (await ready()) === 1);
  const scale = await apps.readNamespacedDeploymentScale({ name: 'run', namespace });
  assert.deepEqual([scale.spec?.replicas, scale.status?.selector], [1, 'app=run']);
  const body = { metadata: scale.metadata ?? {}, spec: { replicas: 2 } };
  await apps.replaceNamespacedDeploymentScale({ name: 'run', namespace, body });
  await waitFor('two ready', async () => (await ready()) === 2);
  await apps.deleteNamespacedDeployment({ name: 'run', namespace, propagationPolicy: 'Foreground' });
  await waitFor(
    'no pod',
    async () => (await core.listNamespacedPod({ namespace, labelSelector: 'app=run' })).items.length === 0,
  );
});

test('KubernetesObjectApi creates, reads, patches, lists and deletes any kind', async () => {
  const spec = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'generic', namespace } };
  type ConfigMap = KubernetesObject & { data?: Record<string, string> };
  await objects.create({ ...spec, data: { a: '1' } } as ConfigMap);
  const patched = await objects.patch({ ...spec, data: { b: '2' } } as ConfigMap);
  assert.deepEqual(patched.data, { a: '1', b: '2' });
  const read = await objects.read<ConfigMap>(spec);
  assert.deepEqual(read.data, { a: '1', b: '2' });
  const list = await objects.list(
    'v1',
    'ConfigMap',
    namespace,
    undefined,
    undefined,
    undefined,
    'metadata.name=generic',
  );
  assert.deepEqual(
    list.items.map((each) => each.metadata?.name),
    ['generic'],
  );
  await objects.delete(spec);
  await assert.rejects(objects.read(spec), refusedWith(404, 'NotFound'));
});

test('invalid, duplicate and unknown objects are refused with the reasons that clients check', async () => {
  const unnamed = core.createNamespacedConfigMap({ namespace, body: { metadata: { name: 'Not A Name' } } });
  await assert.rejects(unnamed, refusedWith(422, 'Invalid'));
  await core.createNamespacedConfigMap({ namespace, body: { metadata: { name: 'twice' } } });
  const doubled = core.createNamespacedConfigMap({ namespace, body: { metadata: { name: 'twice' } } });
  await assert.rejects(doubled, refusedWith(409, 'AlreadyExists'));
  const nowhere = core.createNamespacedConfigMap({ namespace: 'nowhere', body: { metadata: { name: 'a' } } });
  await assert.rejects(nowhere, refusedWith(404, 'NotFound'));
});

test('dates, quantities and bytes keep their form through the client', async () => {
  const data = { bytes: Buffer.from([0, 1, 255]).toString('base64') };
  const secret = await core.createNamespacedSecret({ namespace, body: { metadata: { name: 'formed' }, data } });
  assert.deepEqual(secret.data, data);
  const resources = { requests: { cpu: '0.5', memory: '1.5Gi' } };
  const body = {
    metadata: { name: 'formed' },
    spec: { nodeName: 'no-such-node', containers: [{ ...container, resources }] },
  };
  const pod = await core.createNamespacedPod({ namespace, body });
  assert.deepEqual(pod.spec?.containers[0]?.resources?.requests, { cpu: '500m', memory: '1536Mi' });
  await core.deleteNamespacedPod({ name: 'formed', namespace, gracePeriodSeconds: 0 });
});

test('the version, an access review and a bound token are answered', async () => {
  const config = loadKubeConfig(cluster.ready.kubeconfig);
  const version = await config.makeApiClient(VersionApi).getCode();
  assert.deepEqual([version.major, version.minor], ['1', '32']);
  const review = await config.makeApiClient(AuthorizationV1Api).createSelfSubjectAccessReview({
    body: { spec: { resourceAttributes: { verb: 'delete', resource: 'pods', namespace } } },
  });
  assert.equal(review.status?.allowed, true);
  const request = { spec: { audiences: [], expirationSeconds: 600 } };
  const token = await core.createNamespacedServiceAccountToken({ name: 'default', namespace, body: request });
  assert.equal(token.status?.token.split('.').length, 3);
});

test('a CronJob is typed down to its last field', async () => {
  const batch = loadKubeConfig(cluster.ready.kubeconfig).makeApiClient(BatchV1Api);
  const template = { spec: { template: { spec: { restartPolicy: 'Never', containers: [container] } } } };
  const body = { metadata: { name: 'nightly' }, spec: { schedule: '0 3 * * *', suspend: true, jobTemplate: template } };
  const made = await batch.createNamespacedCronJob({ namespace, body });
  assert.deepEqual([made.spec?.concurrencyPolicy, made.spec?.successfulJobsHistoryLimit], ['Allow', 3]);
});

test('the log of a pod is read in full and followed as it grows', async () => {
  const command = ['sh', '-c', 'echo first; echo second; sleep 3600'];
  const body = { metadata: { name: 'talking' }, spec: { containers: [{ ...container, command }] } };
  await core.createNamespacedPod({ namespace, body });
  const read = async (): Promise<string> => core.readNamespacedPodLog({ name: 'talking', namespace });
  const isRunning = async (): Promise<boolean> =>
    (await core.readNamespacedPod({ name: 'talking', namespace })).status?.phase === 'Running';
  await waitFor('it runs', isRunning);
  await waitFor('both lines', async () => (await read()) === 'first\nsecond\n');
  assert.equal(await core.readNamespacedPodLog({ name: 'talking', namespace, tailLines: 1 }), 'second\n');
  const stream = new PassThrough();
  let followed = '';
  stream.on('data', (chunk: Buffer) => (followed += chunk.toString()));
  const log = new Log(loadKubeConfig(cluster.ready.kubeconfig));
  const following = await log.log(namespace, 'talking', 'main', stream, { follow: true });
  await waitFor('both lines in the stream', () => followed === 'first\nsecond\n');
  following.abort();
  await core.deleteNamespacedPod({ name: 'talking', namespace, gracePeriodSeconds: 1 });
});
