import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { type Container, NODES, PODS, type Pod } from '@holdfast/api';
import { type Cluster, startCluster } from '@holdfast/cluster';
import { Exec, KubeConfig } from '@kubernetes/client-node';
import { NODE_FLAGS } from '../support/node-flags.ts';
import { openFolder } from '../support/open-folder.ts';
import { waitFor } from '../support/wait.ts';

const PROGRAM = path.resolve(import.meta.dirname, '../support/process-nodes-main.ts');
const namespace = 'default';

const pod = (name: string, container: Partial<Container>, spec: Partial<Pod['spec']> = {}): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace },
  spec: { ...spec, containers: [{ name: 'main', image: 'app', resources: {}, ...container }] },
  status: {},
});

const inPhase = (cluster: Cluster, name: string, phase: string): Promise<Pod> =>
  cluster.until(async () => {
    const found = await cluster.client.get(PODS, { namespace, name });
    return found.status?.phase === phase && found;
  }) as Promise<Pod>;

/** A cluster with a pod in another process, with a folder for all temporary files, in which the test sees what is left. */
async function programWithNodes(t: TestContext): Promise<{ readonly program: ChildProcess; readonly folder: string }> {
  const folder = openFolder('process-nodes');
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const program = spawn(process.execPath, [...NODE_FLAGS, PROGRAM, folder], {
    env: { TMPDIR: folder },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  t.after(() => program.kill('SIGKILL'));
  await once(program.stdout, 'data');
  return { program, folder };
}

/** The command lines of processes that name this folder, as those of the nodes and of the pod do. */
function processesWith(folder: string): readonly string[] {
  const lines = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => commandLine(pid));
  return lines.filter((line) => line.includes(folder));
}

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch {
    // It has ended meanwhile.
    return '';
  }
}

test('a pod of a process node is a process: exit code, log and commands come through the API', async () => {
  await using cluster = await startCluster({ processNodes: 1, https: true });
  const script = 'echo "api at $KUBERNETES_SERVICE_HOST:$KUBERNETES_SERVICE_PORT"; exit 7';
  await cluster.client.create(PODS, pod('ends', { command: ['sh', '-c', script] }, { restartPolicy: 'Never' }));
  await cluster.client.create(PODS, pod('stays', { command: ['sleep', '1000'] }));
  const ended = await inPhase(cluster, 'ends', 'Failed');
  assert.equal(ended.status?.containerStatuses?.[0]?.state?.terminated?.exitCode, 7);
  const log = await cluster.fetch(`/api/v1/namespaces/${namespace}/pods/ends/log`);
  assert.equal(await log.text(), `api at ${cluster.url.slice('https://'.length)}\n`);
  await inPhase(cluster, 'stays', 'Running');
  assert.equal(await outputOf(cluster, 'stays', ['sh', '-c', 'echo $((6 * 7))']), '42\n');
});

/** What a command prints in a pod, as the official client shows it. */
async function outputOf(cluster: Cluster, name: string, command: string[]): Promise<string> {
  const config = new KubeConfig();
  config.loadFromString(cluster.kubeconfig);
  const [out, errors] = [new PassThrough(), new PassThrough()];
  const socket = await new Exec(config).exec(namespace, name, 'main', command, out, errors, null, false, () =>
    out.end(),
  );
  try {
    return await text(out);
  } finally {
    socket.close();
  }
}

test('hollow and process nodes are in one cluster, and node selectors choose', async () => {
  await using cluster = await startCluster({
    hollowNodes: [{ labels: { pods: 'simulated' } }],
    processNodes: [{ name: 'real', labels: { pods: 'real' } }, { labels: { pods: 'other' } }],
  });
  for (const kind of ['simulated', 'real', 'other']) {
    const command = ['sh', '-c', 'test -d /proc && exit 3'];
    const spec = { restartPolicy: 'Never', nodeSelector: { pods: kind } } as const;
    await cluster.client.create(PODS, pod(kind, { command }, spec));
  }
  const [simulated, real, other] = await Promise.all([
    inPhase(cluster, 'simulated', 'Running'),
    inPhase(cluster, 'real', 'Failed'),
    inPhase(cluster, 'other', 'Failed'),
  ]);
  assert.deepEqual(
    [simulated, real, other].map(({ spec }) => spec.nodeName),
    ['hollow-1', 'real', 'process-2'],
  );
});

test('a stop leaves no process and no folder, also of a pod that ignores the stop signal', async (t) => {
  const { program, folder } = await programWithNodes(t);
  assert.notDeepEqual(readdirSync(folder), []);
  const ended = once(program, 'exit');
  program.stdin?.end('stop\n');
  assert.deepEqual(await ended, [0, null]);
  assert.deepEqual(processesWith(folder), []);
  assert.deepEqual(readdirSync(folder), []);
});

test('when the process of the cluster is killed, the processes of its pods end and the folder goes', async (t) => {
  const { program, folder } = await programWithNodes(t);
  assert.notDeepEqual(processesWith(folder), []);
  const ended = once(program, 'exit');
  program.kill('SIGKILL');
  await ended;
  await waitFor('the folder to go', () => readdirSync(folder).length === 0);
  await waitFor('the last process to end', () => processesWith(folder).length === 0);
});

test('processes are not in snapshots; a snapshot of hollow nodes continues with process nodes', async () => {
  await using hollow = await startCluster({ hollowNodes: 1 });
  await hollow.client.create(PODS, pod('kept', { command: ['stay'] }, { nodeName: 'hollow-1' }));
  await inPhase(hollow, 'kept', 'Running');
  const snapshot = await hollow.snapshot();
  await using fork = await snapshot.fork({ processNodes: 1 });
  await assert.rejects(fork.snapshot(), { code: 'ClusterOption', message: /process nodes has no snapshots/ });
  const runs = async (): Promise<void> => {
    await fork.client.create(PODS, pod('runs', { command: ['sleep', '1000'] }, { nodeName: 'process-1' }));
    await inPhase(fork, 'runs', 'Running');
    await inPhase(fork, 'kept', 'Running');
  };
  await runs();
  await fork.restore(snapshot);
  await fork.until(async () => (await fork.client.list(NODES)).items.length === 2);
  await runs();
});
