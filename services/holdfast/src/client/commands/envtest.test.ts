import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { createClusterPki, issueCertificate } from '@holdfast/pki/cluster-pki';
import { STANDARD_SERVER_NAMES } from '@holdfast/pki/names';
import { createSystemClock } from '@holdfast/platform';
import { eventually } from '@holdfast/platform/contract';
import { runCommand } from '../run.ts';

const MAIN = path.join(import.meta.dirname, '..', '..', 'main.ts');
const clock = createSystemClock();

// The same steps as envtest of controller-runtime: `--help` of both programs, certificates in a directory, etcd, the API server, their health, a
// user by client certificate, SIGTERM.
test('the programs start and stop as envtest does it, and real controllers are behind them', async (t) => {
  const folder = makeFolder(t);
  const assets = path.join(folder, 'assets');
  execFileSync(process.execPath, [...process.execArgv, MAIN, 'envtest', assets]);
  assert.match(helpOf(assets, 'etcd'), /^\s*--unsafe-no-fsync\b/m);
  assert.doesNotMatch(helpOf(assets, 'kube-apiserver'), /^\s*--insecure-port\b/m);

  const etcdUrl = `http://127.0.0.1:${await freePort()}`;
  const dataDir = path.join(folder, 'etcd-data');
  const etcdFlags = [`--listen-client-urls=${etcdUrl}`, `--advertise-client-urls=${etcdUrl}`, `--data-dir=${dataDir}`];
  const etcd = start(t, path.join(assets, 'etcd'), [...etcdFlags, '--listen-peer-urls=http://127.0.0.1:0']);
  await until(async () => (await ask(`${etcdUrl}/health`)).status === 200);
  assert.equal(existsSync(dataDir), true);

  const { flags, admin, url } = await certificatesIn(path.join(folder, 'certs'));
  const apiServer = start(t, path.join(assets, 'kube-apiserver'), [...flags, `--etcd-servers=${etcdUrl}`]);
  await until(async () => (await ask(`${url}/healthz`)).status === 200);
  assert.equal((await ask(`${url}/api/v1/namespaces`)).status, 403, 'without a certificate');
  await until(async () => (await ask(`${url}/api/v1/namespaces/default`, admin)).status === 200);
  const spec = {
    replicas: 1,
    selector: { matchLabels: { app: 'web' } },
    template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'main', image: 'app' }] } },
  };
  const body = JSON.stringify({ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web' }, spec });
  const deployments = `${url}/apis/apps/v1/namespaces/default/deployments`;
  assert.equal((await ask(deployments, { ...admin, method: 'POST', body })).status, 201);
  const pods = await until(async () => {
    const { items } = JSON.parse((await ask(`${url}/api/v1/namespaces/default/pods`, admin)).text);
    return items.length === 0 ? undefined : items;
  });
  assert.equal(pods[0].spec.volumes, undefined, 'the ServiceAccount plugin is disabled');
  const api = JSON.parse((await ask(`${url}/api/v1/namespaces/default/services/kubernetes`, admin)).text);
  assert.equal(api.spec.clusterIP, '10.0.0.1', 'the range of the flag');
  for (const program of [apiServer, etcd]) {
    const ended = once(program, 'exit');
    program.kill('SIGTERM');
    assert.deepEqual(await ended, [0, null]);
  }
});

test('kubectl is the next one in the PATH', (t) => {
  const folder = makeFolder(t);
  const assets = path.join(folder, 'assets');
  execFileSync(process.execPath, [...process.execArgv, MAIN, 'envtest', assets]);
  const kubectl = path.join(folder, 'kubectl');
  writeFileSync(kubectl, '#!/bin/sh\necho "kubectl $*"; exit 3\n');
  chmodSync(kubectl, 0o755);
  const env = { PATH: `${assets}:${folder}:/usr/bin:/bin` };
  const run = () => execFileSync(path.join(assets, 'kubectl'), ['get', 'pods'], { env, encoding: 'utf8' });
  assert.throws(run, { status: 3, stdout: 'kubectl get pods\n' });
});

test('mistakes of envtest are told with the next step', async (t) => {
  const told: string[] = [];
  const note = (line: string): void => void told.push(line);
  const terminal = { print: note, tell: note, env: {}, clock };
  const file = path.join(makeFolder(t), 'file');
  writeFileSync(file, '');
  assert.equal(await runCommand('envtest', [], terminal), 2);
  assert.equal(await runCommand('envtest', [file], terminal), 1);
  assert.equal(await runCommand('envtest', ['etcd', '--listen-client-urls=tcp://x'], terminal), 2);
  assert.equal(await runCommand('envtest', ['kube-apiserver', '--cert-dir', file], terminal), 2);
  assert.equal(await runCommand('envtest', ['kube-apiserver', '--bind-address=192.0.2.1'], terminal), 2);
  assert.equal(await runCommand('envtest', ['kubectl'], terminal), 127);
  assert.match(
    told.join('\n'),
    /one directory\n.*\n.*cannot be written.*\n.*\n.*not an http URL\n.*\n.*apiserver.crt cannot be read.*\n.*\n.*loopback\n.*\n.*no kubectl in the PATH\n/,
  );
});

interface Asked {
  readonly method?: string;
  readonly body?: string;
  readonly cert?: string;
  readonly key?: string;
}

/** As `envtest` asks for health: the certificate of the server is not verified. */
function ask(url: string, { body, ...asked }: Asked = {}): Promise<{ readonly status: number; readonly text: string }> {
  const { promise, resolve } = Promise.withResolvers<{ readonly status: number; readonly text: string }>();
  const headers = { 'content-type': 'application/json', connection: 'close' };
  const request = url.startsWith('https:')
    ? httpsRequest(url, { ...asked, headers, rejectUnauthorized: false })
    : httpRequest(url, { headers });
  request.on('error', () => resolve({ status: 0, text: '' }));
  request.on('response', (response) => {
    let text = '';
    response.setEncoding('utf8');
    response.on('data', (chunk: string) => {
      text += chunk;
    });
    response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
  });
  request.end(body);
  return promise;
}

const until = <T>(condition: () => Promise<T | undefined | false>): Promise<T> =>
  eventually(condition, 'what envtest waits for', { deadlineMs: 60_000, pollMs: 50 });

function start(t: TestContext, program: string, args: readonly string[]) {
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
  return child;
}

const helpOf = (assets: string, program: string): string =>
  execFileSync(path.join(assets, program), ['--help'], { encoding: 'utf8' });

/** An authority for the server, one for clients, and an RSA key for tokens, all unknown to Holdfast. */
async function certificatesIn(folder: string) {
  mkdirSync(folder);
  const write = (name: string, text: string): string => {
    writeFileSync(path.join(folder, name), text);
    return path.join(folder, name);
  };
  const nowMs = clock.now();
  const serving = await createClusterPki(STANDARD_SERVER_NAMES, nowMs);
  const clients = await createClusterPki(STANDARD_SERVER_NAMES, nowMs);
  const user = await issueCertificate(clients, { user: 'admin', group: 'system:masters', purpose: 'client', nowMs });
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  write('apiserver.crt', serving.serverCertificate);
  write('apiserver.key', serving.serverKey);
  const port = await freePort();
  const url = `https://127.0.0.1:${port}`;
  const flags = [
    `--cert-dir=${folder}`,
    `--client-ca-file=${write('client-cert-auth-ca.crt', clients.caCertificate)}`,
    `--service-account-signing-key-file=${write('sa-signer.key', privateKey.export({ type: 'pkcs8', format: 'pem' }).toString())}`,
    `--service-account-key-file=${path.join(folder, 'sa-signer.crt')}`,
    `--service-account-issuer=${url}/`,
    `--secure-port=${port}`,
    '--bind-address=127.0.0.1',
    '--disable-admission-plugins=ServiceAccount',
    '--service-cluster-ip-range=10.0.0.0/24',
    '--authorization-mode=RBAC',
    '--allow-privileged=true',
  ];
  return { flags, url, admin: { cert: user.certificate, key: user.key } };
}

/**
 * Below the ports that the machine gives to others, which could take one between this look and its use. Each process looks in its own
 * part.
 */
const FIRST_PORT = 20_000;
let nextPort = FIRST_PORT + (process.pid % 600) * 20;

/** As envtest finds one: bound, and closed again. */
async function freePort(): Promise<number> {
  for (;;) {
    const port = nextPort;
    nextPort += 1;
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.on('error', () => resolve(false));
      server.listen(port, '127.0.0.1', () => resolve(true));
    });
    if (!isFree) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
}

function makeFolder(t: TestContext): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-envtest-test-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
