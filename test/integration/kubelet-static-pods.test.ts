import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { NODES, PODS, type Pod } from '@holdfast/api';
import { createApiClient, createDirectTransport } from '@holdfast/client';
import { createKubelet, createStaticPodDirectory, HOLLOW_PROBE_NETWORK, hollowNodeFacts } from '@holdfast/kubelet';
import { createHollowRuntime, type HollowProcessFact } from '@holdfast/kubelet/hollow-runtime';
import { createIds, createSeededRandom, createSilentLog, type Service } from '@holdfast/platform';
import {
  clock,
  eventually,
  getPod,
  type KubeletCluster,
  nodeReady,
  podWhere,
  startApi,
} from '../support/kubelet-cluster.ts';

const random = createSeededRandom(1, 'static-pods');
const log = createSilentLog();

interface World extends KubeletCluster {
  readonly directory: string;
  readonly facts: HollowProcessFact[];
  readonly write: (name: string, pod: string) => void;
  readonly restart: () => Promise<void>;
}

const manifest = (name: string, command = 'stay'): string => `apiVersion: v1
kind: Pod
metadata:
  name: ${name}
  labels: {tier: control-plane}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: main
    image: busybox
    command: [${command}]
`;

async function startWorld(t: TestContext): Promise<World> {
  const api = await startApi();
  const directory = mkdtempSync(path.join(tmpdir(), 'holdfast-static-'));
  const facts: HollowProcessFact[] = [];
  const machine = createHollowRuntime({ clock, random, nodeName: 'n1', observe: (fact) => facts.push(fact) });
  const boot = async (): Promise<() => Promise<void>> => {
    const runtime = machine.connect();
    const client = createApiClient({
      transport: createDirectTransport(api.handle),
      token: 'node-n1',
      userAgent: 'kubelet',
    });
    const kubelet: Service = createKubelet({
      client,
      runtime,
      network: HOLLOW_PROBE_NETWORK,
      node: hollowNodeFacts({ name: 'n1', address: '10.0.0.1' }),
      staticPods: createStaticPodDirectory({ directory, nodeName: 'n1', clock, log }),
      clock,
      random,
      ids: createIds(random),
      log,
    });
    await kubelet.start();
    return async () => {
      await runtime.close();
      await kubelet.stop();
    };
  };
  let end = await boot();
  t.after(async () => {
    await end();
    await api.stop();
    rmSync(directory, { recursive: true });
  });
  return {
    ...api,
    directory,
    facts,
    write: (name, pod) => writeFileSync(path.join(directory, `${name}.yaml`), pod),
    restart: async () => {
      await end();
      end = await boot();
    },
  };
}

const isRunning = ({ status }: Pod): boolean => status.phase === 'Running';
const alive = (facts: readonly HollowProcessFact[]): number =>
  facts.filter(({ kind }) => kind === 'started').length - facts.filter(({ kind }) => kind === 'ended').length;

test('[POD-32] [POD-33] a file in the directory runs on its node, and the API shows it', async (t) => {
  const { admin, write, facts } = await startWorld(t);
  await nodeReady(admin);
  write('web', manifest('web'));
  const mirror = await podWhere(admin, 'web-n1', isRunning, 'runs');
  const node = await admin.get(NODES, { name: 'n1' });
  const { annotations = {}, ownerReferences = [], labels } = mirror.metadata;
  const hash = annotations['kubernetes.io/config.hash'];
  assert.deepEqual(
    [annotations['kubernetes.io/config.mirror'], annotations['kubernetes.io/config.source'], labels],
    [hash, 'file', { tier: 'control-plane' }],
  );
  assert.deepEqual(
    ownerReferences.map(({ kind, name, uid }) => [kind, name, uid]),
    [['Node', 'n1', node.metadata.uid]],
  );
  assert.deepEqual(
    facts.map(({ podUid, podName }) => [podUid, podName]),
    [[hash, 'web-n1']],
  );
});

test('[POD-34] deleting the mirror, gracefully or by force, ends nothing and a new mirror is created', async (t) => {
  const { admin, write, facts } = await startWorld(t);
  write('web', manifest('web'));
  let { uid } = (await podWhere(admin, 'web-n1', isRunning, 'runs')).metadata;
  for (const options of [{}, { gracePeriodSeconds: 0 }]) {
    await admin.delete(PODS, { namespace: 'default', name: 'web-n1' }, options);
    const before = uid;
    const next = await podWhere(admin, 'web-n1', (pod) => isRunning(pod) && pod.metadata.uid !== before, 'is back');
    assert.equal(next.metadata.deletionTimestamp, undefined);
    uid = next.metadata.uid;
  }
  assert.deepEqual(
    facts.map(({ kind }) => kind),
    ['started'],
    'one process all the time',
  );
});

test('[POD-32] a changed file replaces its pod, a removed one ends it, and a restarted kubelet keeps it', async (t) => {
  const { admin, write, facts, directory, restart } = await startWorld(t);
  write('web', manifest('web'));
  const first = await podWhere(admin, 'web-n1', isRunning, 'runs');
  await restart();
  await nodeReady(admin);
  assert.deepEqual(
    facts.map(({ kind }) => kind),
    ['started'],
  );
  write('web', manifest('web', 'stay, longer'));
  const hashOf = ({ metadata }: Pod): string | undefined => metadata.annotations?.['kubernetes.io/config.hash'];
  await podWhere(
    admin,
    'web-n1',
    (pod) => isRunning(pod) && hashOf(pod) !== hashOf(first),
    'runs as the file says now',
  );
  await eventually(async () => alive(facts) === 1 && facts.length === 3, 'the old one ended before the new one began');
  rmSync(path.join(directory, 'web.yaml'));
  await eventually(async () => (await getPod(admin, 'web-n1')) === undefined, 'the mirror is gone');
  assert.equal(alive(facts), 0);
});

test('[POD-32] a failed static pod is restarted without the API, and invalid files affect no other', async (t) => {
  const { admin, write, facts } = await startWorld(t);
  write('broken', 'kind: Pod\nspec: [');
  write('other', 'kind: ConfigMap\napiVersion: v1\nmetadata: {name: x}');
  write('flaky', manifest('flaky', 'exit-after, "0.05", "1"'));
  const pod = await podWhere(
    admin,
    'flaky-n1',
    ({ status }) => (status.containerStatuses?.[0]?.restartCount ?? 0) >= 1,
    'was restarted',
  );
  assert.ok(facts.filter(({ kind }) => kind === 'started').length >= 2);
  assert.equal(pod.status.containerStatuses?.length, 1);
  const names = (await admin.list(PODS, { namespace: 'default' })).items.map(({ metadata }) => metadata.name);
  assert.deepEqual(names, ['flaky-n1']);
});
