import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { EVENTS, PODS, type Pod } from '@holdfast/api';
import { type ApiClient, createApiClient, createDirectTransport } from '@holdfast/client';
import { createKubelet, createProbeNetwork, type Kubelet, readMachineFacts, userRangePool } from '@holdfast/kubelet';
import { createProcessRuntime, type ProcessRuntime } from '@holdfast/kubelet/process-runtime';
import { createIds, createSilentLog, createSystemRandom } from '@holdfast/platform';
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
const RANGE = 65_536;

interface World {
  readonly admin: ApiClient;
  /** Ends the kubelet as a crash would, and starts another. */
  readonly restart: () => Promise<void>;
  /** The first id of this pod on the machine, as its own process shows it. */
  readonly firstId: (name: string) => Promise<number>;
}

/** A node with user namespaces. Where the machine allows none it answers the reason, after it was seen in the events. */
async function createWorld(t: TestContext): Promise<World | string> {
  const api = await startApi({ userNamespacesSupport: true });
  const stateDirectory = mkdtempSync(path.join(tmpdir(), 'holdfast-users-'));
  const transport = createDirectTransport(api.handle);
  const client = createApiClient({ transport, token: 'node-n1', userAgent: 'kubelet' });
  let life: { readonly kubelet: Kubelet; readonly runtime: ProcessRuntime } | undefined;
  const start = async (): Promise<ProcessRuntime> => {
    const random = createSystemRandom();
    const node = { ...readMachineFacts({ name: 'n1', stateDirectory }), address: '127.0.0.1' };
    const runtime = createProcessRuntime({ stateDirectory, clock, log, nodeAddress: () => node.address });
    const userRanges = userRangePool();
    const parts = { client, runtime, network: createProbeNetwork(clock), node, userRanges };
    const kubelet = createKubelet({ ...parts, clock, random, ids: createIds(random), log });
    life = { kubelet, runtime };
    await kubelet.start();
    return runtime;
  };
  const stop = async (): Promise<void> => {
    await life?.kubelet.stop();
    await life?.runtime.close();
  };
  t.after(async () => {
    await stop();
    await createProcessRuntime({ stateDirectory, clock, log, nodeAddress: () => '' }).shutdown(0);
    await api.stop();
    rmSync(stateDirectory, { recursive: true, force: true });
  });
  const runtime = await start();
  await nodeReady(api.admin);
  const refusal = await runtime.userNamespaces?.refusal('');
  if (refusal !== undefined) {
    await refused(api.admin, refusal);
    return refusal;
  }
  return {
    admin: api.admin,
    restart: async () => {
      await stop();
      await start();
    },
    firstId: async (name) => {
      await running(api.admin, name);
      const sandboxes = (await life?.runtime.list()) ?? [];
      const container = sandboxes.find(({ config }) => config.podName === name)?.containers[0];
      const map = await eventually(() => {
        const [text] = readFileSync(container?.logPath ?? '', 'utf8').split('\n');
        return text !== undefined && /^\s*0\s+\d+\s+65536$/.test(text) && text;
      }, `the map of ids of ${name}`);
      return Number(map.trim().split(/\s+/)[1]);
    },
  };
}

const showsMap = withCommand(['/bin/sh', '-c', 'cat /proc/self/uid_map; exec sleep 600']);
const create = (admin: ApiClient, name: string, spec: Partial<Pod['spec']> = {}): Promise<Pod> =>
  admin.create(PODS, podManifest(name, { hostUsers: false, containers: showsMap, ...spec }));

const waitingFor = (admin: ApiClient, name: string, text: string | RegExp): Promise<Pod> =>
  podWhere(admin, name, ({ status }) => JSON.stringify(status).search(text) >= 0, `waits: ${String(text)}`);

async function refused(admin: ApiClient, why: string): Promise<void> {
  await create(admin, 'refused');
  await told(admin, 'FailedCreatePodSandBox', why);
}

const told = (admin: ApiClient, reason: string, text: string): Promise<boolean> =>
  eventually(async () => {
    const { items } = await admin.list(EVENTS, { namespace: 'default' });
    return items.some((event) => event.reason === reason && (event.message ?? '').includes(text));
  }, `an event ${reason} says: ${text}`);

test('[USERNS-02] [USERNS-10] pods of a node get their own ranges, kept across a restart and released at the end', async (t) => {
  const world = await createWorld(t);
  if (typeof world === 'string') return t.skip(world);
  const { admin, restart, firstId } = world;
  const first = await create(admin, 'first');
  await create(admin, 'second');
  const [one, two] = [await firstId('first'), await firstId('second')];
  assert.deepEqual(
    [one, two].toSorted((a, b) => a - b),
    [RANGE, 2 * RANGE],
  );
  await restart();
  await create(admin, 'third');
  assert.equal(await firstId('third'), 3 * RANGE, 'those of the pods that run on are still theirs');
  assert.equal(await firstId('first'), one);
  await admin.delete(PODS, { namespace: 'default', name: 'first' }, { gracePeriodSeconds: 1 });
  await gone(admin, 'first', first.metadata.uid);
  // The node gives it back a moment after the object is gone.
  let later = 0;
  await eventually(async () => {
    const name = `later-${later++}`;
    await create(admin, name);
    return (await firstId(name)) === one;
  }, 'a later pod gets what the first one had');
});

test('[USERNS-03] [USERNS-07] volumes, user and groups of a pod are those inside the namespace; ids that cannot be mapped are refused', async (t) => {
  const world = await createWorld(t);
  if (typeof world === 'string') return t.skip(world);
  const { admin } = world;
  const script =
    'id -u > /data/said; id -G >> /data/said; cat /labels/labels >> /data/said; stat -c "%u %g" /data/said >> /data/said; cat /data/said >/dev/termination-log';
  const [main] = withCommand(['/bin/sh', '-c', script]);
  assert.ok(main !== undefined);
  const volumeMounts = [
    { name: 'data', mountPath: '/data' },
    { name: 'labels', mountPath: '/labels' },
  ];
  const items = [{ path: 'labels', fieldRef: { fieldPath: 'metadata.name' }, mode: 0o440 }];
  await create(admin, 'inside', {
    restartPolicy: 'Never',
    securityContext: { runAsUser: 1_000, runAsGroup: 2_000, fsGroup: 3_000, supplementalGroups: [4_000] },
    containers: [{ ...main, volumeMounts }],
    volumes: [
      { name: 'data', emptyDir: {} },
      { name: 'labels', downwardAPI: { items } },
    ],
  });
  const ended = await podWhere(admin, 'inside', ({ status }) => status.phase === 'Succeeded', 'succeeded');
  const message = ended.status.containerStatuses?.[0]?.state.terminated?.message ?? '';
  assert.deepEqual(message.trim().split('\n'), ['1000', '2000 3000 4000', 'inside1000 3000']);
  await create(admin, 'foreign', {
    containers: [{ ...main, volumeMounts: [{ name: 'machine', mountPath: '/machine' }] }],
    volumes: [{ name: 'machine', hostPath: { path: '/tmp' } }],
  });
  await told(admin, 'FailedMount', 'hostPath volumes are not supported in pods with users of their own');
  await create(admin, 'beyond', { securityContext: { runAsUser: 70_000 } });
  await waitingFor(admin, 'beyond', /id 70000 does not exist in the user namespace of the pod/);
});
