import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import {
  LEASES,
  NODES,
  type Node,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  PODS,
  type Pod,
  SELF_FENCING,
  SELF_FENCING_HOLDER,
  STATEFUL_SETS,
} from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { type Cluster, startCluster } from '@holdfast/cluster';
import { createSystemClock, formatMicroTime, formatTime } from '@holdfast/platform';
import { eventually } from '@holdfast/platform/contract';
import { runCommand } from '../run.ts';

const LOST = 'node-2';
const RENEW_MS = 2_000;
const PET = { namespace: 'default', name: 'db-0' };

let cluster: Cluster;
let folder = '';

before(async () => {
  cluster = await startCluster({ clock: 'virtual', hollowNodes: [{ name: 'node-1' }], https: true });
  folder = mkdtempSync(path.join(tmpdir(), 'holdfast-film-'));
  writeFileSync(path.join(folder, 'kubeconfig'), cluster.kubeconfig);
});
after(async () => {
  await cluster.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function film(...argv: readonly string[]) {
  const [out, printed]: [string[], string[]] = [[], []];
  const tell = (line: string): void => void out.push(line);
  const print = (line: string): void => {
    printed.push(line);
    tell(line);
  };
  const env = { KUBECONFIG: path.join(folder, 'kubeconfig') };
  const code = await runCommand('film', argv, { print, tell, env, clock: createSystemClock() });
  return { code, out: out.join('\n'), printed };
}

/** A node whose kubelet is played here, because it has to promise and to fall silent. */
class PlayedNode {
  readonly #client: ApiClient;

  constructor(client: ApiClient) {
    this.#client = client;
  }

  async join(): Promise<void> {
    const resources = { cpu: '4', memory: '8Gi', pods: '10' };
    await this.#client.create(NODES, {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: LOST, labels: { 'kubernetes.io/hostname': LOST } },
      spec: {},
      status: { capacity: resources, allocatable: resources, daemonEndpoints: DAEMONS, nodeInfo: NODE_INFO },
    });
    await this.#client.create(LEASES, {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: LOST, namespace: 'kube-node-lease', annotations: PROMISE },
      spec: { holderIdentity: LOST, leaseDurationSeconds: 8, renewTime: formatMicroTime(cluster.now()) },
    });
    await this.sayReady();
  }

  /** By a patch, as kubelets do: controllers write to the node as well. */
  async sayReady(): Promise<void> {
    const at = formatTime(cluster.now());
    const ready = {
      type: 'Ready',
      status: 'True',
      reason: 'KubeletReady',
      message: '',
      lastHeartbeatTime: at,
      lastTransitionTime: at,
    };
    const body = { status: { conditions: [ready] } };
    await this.#client.patch(NODES, { name: LOST }, { type: 'strategic', body, subresource: 'status' });
  }

  /** A new promise has no mark of an old one. */
  async renew(): Promise<void> {
    const lease = await this.#client.get(LEASES, { namespace: 'kube-node-lease', name: LOST });
    await this.#client.update(LEASES, {
      ...lease,
      metadata: { ...lease.metadata, annotations: PROMISE },
      spec: { ...lease.spec, renewTime: formatMicroTime(cluster.now()) },
    });
  }

  async runPods(): Promise<void> {
    const pods = await this.#client.list(PODS, { fieldSelector: `spec.nodeName=${LOST}` });
    for (const pod of pods.items)
      if (pod.status.phase === 'Pending') await this.#client.updateStatus(PODS, running(pod));
  }

  /** Lives for this time: heartbeats and pods. */
  async live(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += RENEW_MS) {
      await this.renew();
      await this.runPods();
      await cluster.advance(RENEW_MS);
    }
  }
}

const DAEMONS = { kubeletEndpoint: { Port: 10250 } };
const NODE_INFO: Node['status']['nodeInfo'] = {
  architecture: 'amd64',
  bootID: '',
  containerRuntimeVersion: '',
  kernelVersion: '',
  kubeProxyVersion: '',
  kubeletVersion: 'v1.32.0',
  machineID: '',
  operatingSystem: 'linux',
  osImage: '',
  systemUUID: '',
};

const PROMISE = { [SELF_FENCING]: 'exclusive', [SELF_FENCING_HOLDER]: 'machine/boot' };

function running(pod: Pod): Pod {
  const at = formatTime(cluster.now());
  const conditions = ['Initialized', 'ContainersReady', 'Ready', 'PodScheduled'].map((type) => ({
    type,
    status: 'True',
    lastTransitionTime: at,
  }));
  const state = { running: { startedAt: at } };
  const containers = [
    { name: 'main', image: 'busybox', imageID: '', ready: true, restartCount: 0, state, lastState: {} },
  ];
  return {
    ...pod,
    status: { ...pod.status, phase: 'Running', startTime: at, conditions, containerStatuses: containers },
  };
}

async function createDatabase({ client }: Cluster): Promise<void> {
  await client.create(PERSISTENT_VOLUMES, {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: 'disk' },
    spec: {
      accessModes: ['ReadWriteOnce'],
      capacity: { storage: '1Gi' },
      iscsi: { targetPortal: '192.0.2.9:3260', iqn: 'iqn.2026-11.example:disk', lun: 0 },
    },
    status: {},
  });
  await client.create(PERSISTENT_VOLUME_CLAIMS, {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'data', namespace: 'default' },
    spec: { accessModes: ['ReadWriteOnce'], storageClassName: '', resources: { requests: { storage: '1Gi' } } },
    status: {},
  });
  await client.create(STATEFUL_SETS, {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: 'db', namespace: 'default' },
    spec: {
      serviceName: 'db',
      replicas: 1,
      updateStrategy: {},
      selector: { matchLabels: { app: 'db' } },
      template: {
        metadata: { labels: { app: 'db' } },
        spec: {
          containers: [
            { name: 'main', image: 'busybox', resources: {}, volumeMounts: [{ name: 'data', mountPath: '/d' }] },
          ],
          volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }],
        },
      },
    },
    status: { replicas: 0 },
  });
}

const unschedulable = ({ client }: Cluster, name: string, is: boolean) =>
  client.patch(NODES, { name }, { type: 'merge', body: { spec: { unschedulable: is } } });

interface Document {
  readonly waits: readonly string[];
  readonly back: string | null;
  readonly lanes: readonly { readonly kind: string; readonly name: string; readonly steps: readonly DocumentStep[] }[];
}
interface DocumentStep {
  readonly id: number;
  readonly kind: string;
  readonly name: string;
  readonly durationMs: number;
  readonly cause: number | null;
}

const stepsOf = (shown: Document, kind: string) => shown.lanes.find((lane) => lane.kind === kind)?.steps ?? [];
const kindsOf = (shown: Document, kind: string) => stepsOf(shown, kind).map((step) => step.kind);

async function shownAsJson(): Promise<Document> {
  const { code, out } = await film('--node', LOST, '--json');
  assert.equal(code, 0, out);
  return JSON.parse(out) as Document;
}

test('[SAFE-22] the film of the tour: silent, fenced by its promise, told to go, detached, attached, running, back', async () => {
  const { client } = cluster.access({ name: `system:node:${LOST}`, groups: ['system:nodes', 'system:masters'] });
  const node = new PlayedNode(client);
  const registered = () => cluster.client.find(NODES, { name: 'node-1' });
  await eventually(registered, 'node-1', { deadlineMs: 30_000, pollMs: 20 });
  await unschedulable(cluster, 'node-1', true);
  await node.join();
  await createDatabase(cluster);
  await node.live(10_000);
  assert.equal((await cluster.client.get(PODS, PET)).status.phase, 'Running');
  assert.equal((await film()).out, 'no node was lost in the last 10m');

  await cluster.advance('7s');
  await unschedulable(cluster, 'node-1', false);
  const early = await shownAsJson();
  assert.deepEqual(early.waits, [
    'db-0 waits: the promise of node-2 to end it is being waited out; it may be running until then',
  ]);
  await cluster.advance('30s');
  const lost = await shownAsJson();
  assert.deepEqual([lost.waits, lost.back], [[], null]);

  await node.renew();
  await node.sayReady();
  await node.live(10_000);
  const back = await shownAsJson();
  assert.notEqual(back.back, null);
  assert.deepEqual(kindsOf(back, 'node'), ['heard', 'silent', 'fenced', 'returned', 'heard']);
  assert.deepEqual(kindsOf(back, 'pod'), [
    'runs',
    'unknown',
    'ended',
    'ended',
    'ended',
    'ended',
    'absent',
    'waiting',
    'starts',
    'runs',
  ]);
  assert.deepEqual(kindsOf(back, 'volume'), ['attached', 'free', 'moved']);
  assertChain(back);
});

const CHAIN = [
  'sends heartbeats',
  'lease missed: its promise is waited out',
  'fenced by its promise: its watchdog has ended its exclusive pods',
  'confirmed dead on node-2',
  'NodeDown: confirmed dead on node-2',
  'told to go; confirmed dead on node-2',
  'has ended (Failed)',
  'gone: removed by pod-garbage-collector',
  'detached',
  'attached to node-1',
  'runs on node-1',
];

/** Backwards from the new instance to the last heartbeat: each step names the one that brought it about. */
function assertChain(shown: Document): void {
  const all = new Map(shown.lanes.flatMap(({ steps }) => steps.map((step) => [step.id, step] as const)));
  const chain: string[] = [];
  for (let step = stepsOf(shown, 'pod').at(-1); step !== undefined; step = all.get(step.cause ?? -1))
    chain.unshift(step.name);
  assert.deepEqual(chain, CHAIN);
  const waited = stepsOf(shown, 'node').find(({ kind }) => kind === 'silent');
  assert.ok((waited?.durationMs ?? 0) > 10_000, 'the promise is 8 s, and 2 s for the kill');
}

test('film says it in words and as one page without scripts', async () => {
  const { out } = await film('--node', LOST);
  const [head = '', columns = '', ...lines] = out.split('\n');
  assert.match(
    head,
    /^node-2 was lost at 2026-01-01T00:00:\d\dZ and was back after \d+\.\ds; nothing waits any more\.$/,
  );
  assert.match(columns, /^AFTER +LASTED +WHO +WHAT +BECAUSE$/);
  assert.ok(
    lines.some((line) => /pod db-0 +bound; starts on node-1/.test(line)),
    out,
  );

  const file = path.join(folder, 'film.html');
  assert.match((await film('--html', file)).out, /^1 loss is in /);
  const both = await film('--json', '--html', file);
  assert.deepEqual(
    both.printed.map((line) => JSON.parse(line).node),
    [LOST],
  );
  assert.match(both.out, /1 loss is in /);
  const page = readFileSync(file, 'utf8');
  assert.ok(page.startsWith('<!doctype html>') && !/<script|https?:\/\//.test(page), 'it needs no server');
  for (const text of ['fenced by its promise', 'volume disk', 'SelfFencingEviction', 'role="img"'])
    assert.ok(page.includes(text), text);
  assert.equal((await film('--node', 'node-1')).out, 'node-1 was not lost in the last 10m');
  assert.match((await film('--since', '30s')).out, /^node-2 was lost at 2026-01-01T00:00:\d\dZ and was back/);
});

test('film refuses what it does not understand in one sentence with the next step', async () => {
  for (const [argv, sentence] of [
    [['node-2'], /"node-2" is not expected\n {2}Name a node with --node NODE/],
    [['--node', 'a/b'], /a\/b/],
    [['--since', 'yesterday'], /"yesterday" is not a duration/],
    [['--html', path.join(folder, 'no', 'such', 'page.html')], /cannot be written/],
  ] as const) {
    const { code, out } = await film(...argv);
    assert.match(out, sentence);
    assert.notEqual(code, 0);
  }
});
