import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { CONFIG_MAPS, PODS, type Pod } from '@holdfast/api';
import { type ApiClient, createApiClient, createDirectTransport } from '@holdfast/client';
import { createKubelet, createProbeNetwork, readMachineFacts } from '@holdfast/kubelet';
import { createProcessRuntime, type ProcessRuntime } from '@holdfast/kubelet/process-runtime';
import { createIds, createSilentLog, createSystemRandom } from '@holdfast/platform';
import { unlessRoot } from '@holdfast/testing';
import {
  clock,
  eventually,
  gone,
  nodeReady,
  podManifest,
  podWhere,
  running,
  startApi,
  withCommand,
} from '../support/kubelet-cluster.ts';

const log = createSilentLog();

interface World {
  readonly admin: ApiClient;
  readonly runtime: ProcessRuntime;
  readonly stateDirectory: string;
}

/** One node with real processes. */
async function startNode(t: TestContext): Promise<World> {
  const api = await startApi();
  const stateDirectory = mkdtempSync(path.join(tmpdir(), 'holdfast-order-'));
  const random = createSystemRandom();
  const node = { ...readMachineFacts({ name: 'n1', stateDirectory }), address: '127.0.0.1' };
  const runtime = createProcessRuntime({ stateDirectory, clock, log, nodeAddress: () => node.address });
  const client = createApiClient({
    transport: createDirectTransport(api.handle),
    token: 'node-n1',
    userAgent: 'kubelet',
  });
  const network = createProbeNetwork(clock);
  const kubelet = createKubelet({ client, runtime, network, node, clock, random, ids: createIds(random), log });
  t.after(async () => {
    await kubelet.stop();
    await runtime.shutdown(0);
    await api.stop();
    rmSync(stateDirectory, { recursive: true, force: true });
  });
  await kubelet.start();
  await nodeReady(api.admin);
  return { admin: api.admin, runtime, stateDirectory };
}

const conditions = ({ status }: Pod): Readonly<Record<string, string>> =>
  Object.fromEntries((status.conditions ?? []).map((each) => [each.type, each.status]));

const withSettings = (change: Partial<Pod['spec']> = {}): Partial<Pod['spec']> => {
  const [main] = withCommand(['/bin/sleep', '600']);
  assert.ok(main !== undefined);
  return {
    containers: [{ ...main, volumeMounts: [{ name: 'settings', mountPath: '/settings' }] }],
    volumes: [{ name: 'settings', configMap: { name: 'settings' } }],
    ...change,
  };
};

const toldOf = (admin: ApiClient, name: string): Promise<Pod> =>
  podWhere(admin, name, ({ status }) => (status.conditions ?? []).length > 1, 'its conditions are told');

test('[LIFE-32] [LIFE-33] [LIFE-34] [LIFE-35] a pod that waits for a volume is initialised but has no sandbox', async (t) => {
  const { admin, runtime } = await startNode(t);
  await admin.create(PODS, podManifest('waits', withSettings()));
  const [main] = withCommand(['/bin/true']);
  assert.ok(main !== undefined);
  await admin.create(PODS, podManifest('prepares', withSettings({ initContainers: [{ ...main, name: 'setup' }] })));
  const waits = conditions(await toldOf(admin, 'waits'));
  const prepares = conditions(await toldOf(admin, 'prepares'));
  assert.deepEqual([waits['PodReadyToStartContainers'], waits['Initialized']], ['False', 'True']);
  assert.deepEqual([prepares['PodReadyToStartContainers'], prepares['Initialized']], ['False', 'False']);
  assert.deepEqual(await runtime.list(), []);
  await admin.create(CONFIG_MAPS, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'settings', namespace: 'default' },
    data: { mode: 'fast' },
  });
  for (const name of ['waits', 'prepares']) {
    const now = conditions(await running(admin, name));
    assert.deepEqual([now['PodReadyToStartContainers'], now['Initialized']], ['True', 'True']);
  }
});

test('volumes are removed with their pod, whether or not it ever ran', async (t) => {
  const { admin, stateDirectory } = await startNode(t);
  const left = (): readonly string[] => readdirSync(path.join(stateDirectory, 'pods'));
  const empty = { volumes: [{ name: 'settings', emptyDir: {} }] };
  const ran = await admin.create(
    PODS,
    podManifest('ran', withSettings({ ...empty, terminationGracePeriodSeconds: 1 })),
  );
  await running(admin, 'ran');
  const never = await admin.create(PODS, podManifest('never', withSettings()));
  await toldOf(admin, 'never');
  for (const { metadata } of [ran, never]) {
    await admin.delete(PODS, { namespace: 'default', name: metadata.name ?? '' });
    await gone(admin, metadata.name ?? '', metadata.uid);
  }
  await eventually(() => left().length === 0, 'nothing is left of either');
});

test('memory volumes are removed when the node stops, also when its pods still exist', {
  skip: unlessRoot(),
}, async (t) => {
  const { admin, runtime, stateDirectory } = await startNode(t);
  assert.equal(
    runtime.abilities?.memoryVolumes,
    true,
    'needs unshare and mount (util-linux), and the right to use them',
  );
  const volumes = [{ name: 'settings', emptyDir: { medium: 'Memory' } }];
  await admin.create(PODS, podManifest('stays', withSettings({ volumes })));
  await running(admin, 'stays');
  const mounted = (): boolean => readFileSync('/proc/self/mounts', 'utf8').includes(` ${stateDirectory}/`);
  assert.equal(mounted(), true);
  await runtime.shutdown(0);
  assert.equal(mounted(), false);
});

test('a memory volume is shared by the containers of a pod, has its size, and is removed with the pod', {
  skip: unlessRoot(),
}, async (t) => {
  const { admin, runtime, stateDirectory } = await startNode(t);
  assert.equal(
    runtime.abilities?.memoryVolumes,
    true,
    'needs unshare and mount (util-linux), and the right to use them',
  );
  const mount = { volumeMounts: [{ name: 'ram', mountPath: '/ram' }], image: 'busybox:1.36', resources: {} };
  const shell = (name: string, script: string) => ({ ...mount, name, command: ['/bin/sh', '-c', script] });
  const fill =
    'head -c 3000000 /dev/zero > /ram/big 2>/dev/null; size=$(stat -c %s /ram/big); rm /ram/big; echo $size > /ram/size; sleep 600';
  const wait =
    'while [ ! -s /ram/size ]; do sleep 0.02; done; cat /ram/size > /dev/termination-log; stat -f -c %T /ram >> /dev/termination-log';
  const created = await admin.create(
    PODS,
    podManifest('ram', {
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: 1,
      containers: [shell('writes', fill), shell('reads', wait)],
      volumes: [{ name: 'ram', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } }],
    }),
  );
  const messageOf = ({ status }: Pod): string | undefined =>
    status.containerStatuses?.find(({ name }) => name === 'reads')?.state.terminated?.message;
  const ended = await podWhere(admin, 'ram', (pod) => messageOf(pod) !== undefined, 'has read');
  assert.match(messageOf(ended) ?? '', /^10\d{5}\ntmpfs\n$/);
  await admin.delete(PODS, { namespace: 'default', name: 'ram' });
  await gone(admin, 'ram', created.metadata.uid);
  await eventually(() => !existsSync(path.join(stateDirectory, 'pods', created.metadata.uid ?? '')), 'it is gone');
});
