import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { prepareState } from '@holdfast/holdfast/setup';
import { createProcessRuntime } from '@holdfast/kubelet/process-runtime';
import { formatKubeconfig } from '@holdfast/pki/kubeconfig';
import { createSilentLog, createSystemClock } from '@holdfast/platform';
import { createKubectl, STREAM_PROTOCOLS, tryKubectl } from '../support/kubectl.ts';
import { waitFor } from '../support/wait.ts';

/** An API server and a kubelet as processes of their own, with the files that the compose form gives them. */
const directory = mkdtempSync(path.join(tmpdir(), 'holdfast-port-'));
const at = (...names: readonly string[]): string => path.join(directory, ...names);
const kubeconfig = at('kubeconfig-test');
const children: ChildProcess[] = [];
const { run, send } = createKubectl(() => kubeconfig);

function start(service: string, settings: Readonly<Record<string, string>>): ChildProcess {
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
  const main = path.resolve(import.meta.dirname, `../../services/${service}/src/main.ts`);
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', main, ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: {},
  });
  children.push(child);
  child.stderr?.resume();
  return child;
}

/** The value of a field of the first log line that has it. */
function logged(child: ChildProcess, field: string): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`ended with ${code}`)));
    if (child.stderr === null) return;
    createInterface({ input: child.stderr }).on('line', (line) => {
      const value = (JSON.parse(line) as Record<string, unknown>)[field];
      if (typeof value === 'number') resolve(value);
    });
  });
}

before(async () => {
  await prepareState(
    {
      stateDirectory: directory,
      apiServers: ['localhost'],
      storeServers: [],
      nodes: ['node-1'],
      apiPorts: [6443],
      consolePort: 6480,
      componentUid: process.getuid?.() ?? 0,
      redisUid: process.getuid?.() ?? 0,
      ownerOf: undefined,
    },
    createSystemClock().now(),
  );
  const api = start('apiserver', {
    port: '0',
    'tls-cert-file': at('apiserver', 'server.crt'),
    'tls-key-file': at('apiserver', 'server.key'),
    'token-file': at('apiserver', 'tokens.csv'),
    'service-account-key-file': at('apiserver', 'service-account.key'),
    'kubelet-client-cert-file': at('apiserver', 'kubelet-client.crt'),
    'kubelet-client-key-file': at('apiserver', 'kubelet-client.key'),
    'kubelet-ca-file': at('apiserver', 'ca.crt'),
  });
  const port = await logged(api, 'port');
  const server = `https://127.0.0.1:${port}`;
  const token = adminToken();
  writeFileSync(
    kubeconfig,
    formatKubeconfig({
      contexts: [{ name: 'test', server }],
      caCertificate: readFileSync(at('node-1', 'ca.crt'), 'utf8'),
      token,
    }),
  );
  start('kubelet', {
    'api-servers': server,
    'ca-file': at('node-1', 'ca.crt'),
    'token-file': at('node-1', 'token'),
    'node-name': 'node-1',
    'state-dir': at('state'),
    port: '0',
    'tls-cert-file': at('node-1', 'kubelet.crt'),
    'tls-key-file': at('node-1', 'kubelet.key'),
  });
  await waitFor('the node is ready', async () => / Ready /.test(await run('get', 'nodes', '--no-headers')));
});
after(async () => {
  for (const child of children.toReversed()) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    await exited;
  }
  // A kubelet that ends leaves its pods, and who watches them, running.
  const node = {
    stateDirectory: at('state'),
    clock: createSystemClock(),
    log: createSilentLog(),
    nodeAddress: () => '',
  };
  await createProcessRuntime(node).shutdown(0);
  rmSync(directory, { recursive: true, force: true });
});

/** The token of the administrator. */
function adminToken(): string {
  return /^([^,]*),[^,]*,[^,]*,"system:masters/m.exec(readFileSync(at('tokens.csv'), 'utf8'))?.[1] ?? '';
}

test('logs and exec reach the node over its port, with both protocols', async () => {
  await send(['create'], {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'far', namespace: 'default' },
    spec: {
      nodeName: 'node-1',
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: 0,
      containers: [{ name: 'main', image: 'busybox', command: ['sh', '-c', 'echo from afar; exec sleep 1000'] }],
    },
  });
  await run('wait', '--for=condition=Ready', 'pod/far', '--timeout=60s');
  await waitFor('the log', async () => (await run('logs', 'far')) === 'from afar\n');
  for (const { environment } of STREAM_PROTOCOLS) {
    const args = ['exec', '-i', 'far', '--', 'sh', '-c', 'cat; exit 6'];
    const result = await tryKubectl(kubeconfig, args, 'in and out\n'.repeat(100_000), environment);
    assert.ok(result.stdout === 'in and out\n'.repeat(100_000), result.stderr);
    assert.equal(result.code, 6);
    const wrong = await tryKubectl(kubeconfig, ['exec', 'far', '-c', 'other', '--', 'true'], '', environment);
    assert.match(wrong.stderr, /container other is not valid for pod far/);
  }
  await run('delete', 'pod', 'far', '--wait=true');
});

test('the node reports its port, and answers only callers that the API authorizes', async () => {
  const node = JSON.parse(await run('get', 'node', 'node-1', '-o', 'json'));
  const port = node.status.daemonEndpoints.kubeletEndpoint.Port;
  const ask = (token: string | undefined): Promise<string> =>
    new Promise((resolve, reject) => {
      const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
      const ca = readFileSync(at('node-1', 'ca.crt'));
      request({ host: '127.0.0.1', port, path: '/pods', servername: 'node-1', ca, headers }, (answer) => {
        const chunks: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => chunks.push(chunk));
        answer.on('end', () => resolve(`${answer.statusCode} ${Buffer.concat(chunks).toString()}`));
      })
        .once('error', reject)
        .end();
    });
  assert.match(await ask(undefined), /^401 .*Unauthorized/);
  assert.match(await ask('no-such-token'), /^401 .*Unauthorized/);
  assert.match(await ask(readFileSync(at('scheduler', 'token'), 'utf8').trim()), /^403 .*system:kube-scheduler/);
  assert.match(await ask(adminToken()), /^200 .*"kind":"PodList"/);
});
