import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { LEASES, NODE_LEASES_NAMESPACE, PODS, promiseOf } from '@holdfast/api';
import { createHttpsServer } from '@holdfast/apiserver/https';
import { createApiClient, createDirectTransport } from '@holdfast/client';
import { createKubelet, createProbeNetwork, type LogRequest, readMachineFacts } from '@holdfast/kubelet';
import { createProcessRuntime } from '@holdfast/kubelet/process-runtime';
import { createClusterPki } from '@holdfast/pki/cluster-pki';
import { createIds, createSilentLog, createSystemRandom } from '@holdfast/platform';
import { readProcess } from '../../services/kubelet/src/runtime/process/process-table.ts';
import {
  clock,
  eventually,
  gone,
  type KubeletCluster,
  nodeReady,
  podManifest,
  podWhere,
  running,
  startApi,
  withCommand,
} from '../support/kubelet-cluster.ts';
import { openFolder } from '../support/open-folder.ts';

const MAIN = path.resolve(import.meta.dirname, '../../services/kubelet/src/main.ts');
const log = createSilentLog();

/** A kubelet in a process of its own, reached over HTTPS, running real processes. */
class NodeProcess {
  readonly directory = openFolder('node');
  readonly #url: string;
  #child: ChildProcess | undefined;

  constructor(url: string, caPem: string) {
    this.#url = url;
    writeFileSync(path.join(this.directory, 'ca.pem'), caPem);
    writeFileSync(path.join(this.directory, 'token'), 'node-n1\n');
  }

  start(): void {
    const file = (name: string): string => path.join(this.directory, name);
    const flags = ['--api-servers', this.#url, '--ca-file', file('ca.pem'), '--token-file', file('token')];
    const node = ['--node-name', 'n1', '--state-dir', file('state'), '--log-level', 'silent'];
    const args = ['--disable-warning=ExperimentalWarning', MAIN, ...flags, ...node];
    this.#child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'], env: {} });
  }

  signal(name: 'SIGSTOP' | 'SIGCONT'): void {
    this.#child?.kill(name);
  }

  async end(signal: NodeJS.Signals): Promise<number | null> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined) return null;
    const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
    child.kill(signal);
    return exited;
  }

  async dispose(): Promise<void> {
    await this.end('SIGKILL');
    const stateDirectory = path.join(this.directory, 'state');
    await createProcessRuntime({ stateDirectory, clock, log, nodeAddress: () => '' }).shutdown(0);
    rmSync(this.directory, { recursive: true, force: true });
  }
}

const check = (title: string, body: (world: KubeletCluster & { node: NodeProcess }) => Promise<void>): void => {
  test(title, async () => {
    const api = await startApi();
    const pki = await createClusterPki({ dnsNames: ['localhost'], ipAddresses: ['127.0.0.1'] }, clock.now());
    const tls = { certificate: pki.serverCertificate, key: pki.serverKey };
    const https = createHttpsServer({ handle: api.handle, log, host: '127.0.0.1', port: 0, tls });
    await https.start();
    const node = new NodeProcess(`https://127.0.0.1:${https.address().port}`, pki.caCertificate);
    try {
      node.start();
      await nodeReady(api.admin);
      await body({ ...api, node });
    } finally {
      await node.dispose();
      await https.stop();
      await api.stop();
    }
  });
};

/** `$$` in a command is one dollar. */
const shell = (script: string) => withCommand(['/bin/sh', '-c', script]);

/** Not by the command line: a process that begins a program has none for a moment. */
const lives = (pid: number): boolean => readProcess(pid)?.zombie === false;

/** A shell makes the file before it writes. */
const pidFrom = (file: string): Promise<number> =>
  eventually(async () => existsSync(file) && (Number(readFileSync(file, 'utf8')) || false), `a process id in ${file}`);

check(
  '[TEST-05] [SAFE-29] kill -9 of a kubelet leaves its containers alone; the next one reports what happened meanwhile',
  async ({ admin, node }) => {
    const file = (name: string): string => path.join(node.directory, name);
    await admin.create(
      PODS,
      podManifest('stays', { containers: shell(`echo $$$$ > ${file('stays')}; exec sleep 600`) }),
    );
    const ends = `echo $$$$ > ${file('ends')}; while [ ! -e ${file('go')} ]; do sleep 0.02; done; exit 7`;
    await admin.create(PODS, podManifest('ends', { restartPolicy: 'Never', containers: shell(ends) }));
    const before = await running(admin, 'stays');
    await running(admin, 'ends');
    const [stays, other] = await Promise.all([pidFrom(file('stays')), pidFrom(file('ends'))]);
    await node.end('SIGKILL');
    writeFileSync(file('go'), '');
    await eventually(async () => !lives(other), 'the other container ended while no kubelet lived');
    node.start();
    const ended = await podWhere(admin, 'ends', ({ status }) => status.phase === 'Failed', 'failed');
    assert.equal(ended.status.containerStatuses?.[0]?.state.terminated?.exitCode, 7);
    assert.ok(lives(stays), 'the same process');
    const after = await running(admin, 'stays');
    assert.deepEqual(after.status, before.status);
  },
);

check(
  '[SAFE-08] [SAFE-12] [TEST-05] kill -9 of a kubelet in the middle of a termination: the next one completes it',
  async ({ admin, node }) => {
    const pidFile = path.join(node.directory, 'deaf');
    const script = `trap "" TERM; sleep 600 & echo $$$$ > ${pidFile}; while :; do sleep 600; done`;
    const spec = { terminationGracePeriodSeconds: 2, containers: shell(script) };
    const created = await admin.create(PODS, podManifest('deaf', spec));
    await running(admin, 'deaf');
    const pid = await pidFrom(pidFile);
    await admin.delete(PODS, { namespace: 'default', name: 'deaf' });
    await node.end('SIGKILL');
    assert.ok(lives(pid));
    node.start();
    await gone(admin, 'deaf', created.metadata.uid);
    assert.ok(!lives(pid), 'no process when the object is gone');
  },
);

check(
  '[SAFE-32] a kubelet that is stopped (SIGSTOP) renews nothing: only its exclusive pod is ended at the deadline; the kubelet continues later',
  async ({ admin, node }) => {
    const file = (name: string): string => path.join(node.directory, name);
    const spec = (name: string) => ({ containers: shell(`echo $$$$ > ${file(name)}; exec sleep 600`) });
    await eventually(
      async () => promiseOf(await admin.find(LEASES, { namespace: NODE_LEASES_NAMESPACE, name: 'n1' })) !== undefined,
      'the node promises',
    );
    await admin.create(PODS, podManifest('db-0', { ...spec('db-0'), hostname: 'db-0' }));
    await admin.create(PODS, podManifest('web', spec('web')));
    await running(admin, 'db-0');
    await running(admin, 'web');
    const [exclusive, other] = await Promise.all([pidFrom(file('db-0')), pidFrom(file('web'))]);
    node.signal('SIGSTOP');
    await eventually(() => !lives(exclusive), 'the exclusive pod is ended');
    assert.ok(lives(other));
    node.signal('SIGCONT');
    const again = await eventually(async () => {
      const pid = await pidFrom(file('db-0'));
      return pid !== exclusive && lives(pid) && pid;
    }, 'it runs again under the next promise');
    assert.notEqual(again, other);
    assert.ok(lives(other), 'the same process');
  },
);

check('[LIFE-18] [LIFE-16] a program that does not exist, and an image without a command', async ({ admin }) => {
  const [main] = withCommand(['no-such-program']);
  assert.ok(main !== undefined);
  await admin.create(PODS, podManifest('typo', { restartPolicy: 'Never', containers: [main] }));
  const { command: _none, ...image } = main;
  await admin.create(PODS, podManifest('image', { containers: [{ ...image, image: 'nginx:1.27' }] }));
  const typo = await podWhere(admin, 'typo', ({ status }) => status.phase === 'Failed', 'failed');
  const terminated = typo.status.containerStatuses?.[0]?.state.terminated;
  assert.deepEqual([terminated?.exitCode, terminated?.reason], [128, 'StartError']);
  const waiting = await podWhere(
    admin,
    'image',
    ({ status }) => status.containerStatuses?.[0]?.state.waiting?.reason === 'CreateContainerError',
    'waits',
  );
  assert.match(waiting.status.containerStatuses?.[0]?.state.waiting?.message ?? '', /set the command of the container/);
});

test('[EXP-10] logs: in full, the last lines, the previous container, follow to the end', async () => {
  const api = await startApi();
  const stateDirectory = mkdtempSync(path.join(tmpdir(), 'holdfast-logs-'));
  const random = createSystemRandom();
  const node = { ...readMachineFacts({ name: 'n1', stateDirectory }), address: '127.0.0.1' };
  const runtime = createProcessRuntime({ stateDirectory, clock, log, nodeAddress: () => node.address });
  const transport = createDirectTransport(api.handle);
  const client = createApiClient({ transport, token: 'node-n1', userAgent: 'kubelet' });
  const network = createProbeNetwork(clock);
  const kubelet = createKubelet({ client, runtime, network, node, clock, random, ids: createIds(random), log });
  const read = async (request: Partial<LogRequest>): Promise<string> => {
    const blocks = await kubelet.logs({ namespace: 'default', podName: 'talks', ...request });
    let text = '';
    for await (const block of blocks) text += Buffer.from(block).toString();
    return text;
  };
  try {
    await kubelet.start();
    await assert.rejects(read({}), { code: 404 });
    const [main] = shell('echo "hello from $(POD)"; echo last; sleep 0.2; echo bye; exit 1');
    assert.ok(main !== undefined);
    const env = [{ name: 'POD', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }];
    await api.admin.create(PODS, podManifest('talks', { containers: [{ ...main, env }] }));
    await running(api.admin, 'talks');
    assert.equal(await read({ follow: true }), 'hello from talks\nlast\nbye\n');
    // The next life may have written nothing yet.
    await eventually(async () => (await read({ tailLines: 1 })).split('\n').length === 2, 'one line is read');
    await podWhere(api.admin, 'talks', ({ status }) => status.containerStatuses?.[0]?.restartCount === 1, 'restarted');
    assert.equal(await read({ previous: true, tailLines: 1 }), 'bye\n');
    await assert.rejects(read({ container: 'nope' }), {
      code: 400,
      message: 'container nope is not valid for pod talks',
    });
  } finally {
    await kubelet.stop();
    await runtime.shutdown(0);
    await api.stop();
    rmSync(stateDirectory, { recursive: true, force: true });
  }
});

check('a kubelet that is asked to stop ends, and its containers run on', async ({ admin, node }) => {
  const pidFile = path.join(node.directory, 'stays');
  await admin.create(PODS, podManifest('stays', { containers: shell(`echo $$$$ > ${pidFile}; exec sleep 600`) }));
  const pid = await pidFrom(pidFile);
  // A start that is interrupted leaves nothing behind: this one has to be over.
  await running(admin, 'stays');
  assert.equal(await node.end('SIGTERM'), 0);
  assert.ok(lives(pid));
});
