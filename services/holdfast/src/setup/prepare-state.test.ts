import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { chownSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { OperatorError } from '@holdfast/platform';
import { readAccess } from '../client/kubeconfig.ts';
import type { SetupConfig } from './config.ts';
import { prepareState } from './prepare-state.ts';

/** 2026-11-20. */
const NOW = 1_795_132_800_000;
const OTHER_USER = 61_001;
const YEARS_3_MS = 3 * 365 * 86_400_000;

async function inFolder(run: (config: SetupConfig) => Promise<void>): Promise<void> {
  const stateDirectory = mkdtempSync(path.join(tmpdir(), 'holdfast-setup-'));
  try {
    await run({
      stateDirectory,
      apiServers: ['apiserver-1', 'apiserver-2'],
      storeServers: [],
      nodes: ['node-1', 'node-2'],
      apiPorts: [7443, 7444],
      consolePort: 6480,
      componentUid: process.getuid?.() ?? 0,
      redisUid: process.getuid?.() ?? 0,
      ownerOf: undefined,
    });
  } finally {
    rmSync(stateDirectory, { recursive: true, force: true });
  }
}

function contents(folder: string): Map<string, string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return new Map(
    files
      .map((file) => path.join(file.parentPath, file.name))
      .map((file): [string, string] => [path.relative(folder, file), readFileSync(file, 'utf8')])
      .sort(([a], [b]) => a.localeCompare(b)),
  );
}

test('the owner of the checkout reads the kubeconfig, also after a repeated run', async () => {
  await inFolder(async (config) => {
    const ownerOf = path.join(config.stateDirectory, '..', `${path.basename(config.stateDirectory)}.yml`);
    writeFileSync(ownerOf, '');
    try {
      if (process.getuid?.() === 0) chownSync(ownerOf, OTHER_USER, OTHER_USER);
      for (let run = 0; run < 2; run++) await prepareState({ ...config, ownerOf }, NOW);
      assert.equal(statSync(path.join(config.stateDirectory, 'kubeconfig')).uid, statSync(ownerOf).uid);
      assert.equal((statSync(config.stateDirectory).mode & 0o777).toString(8), '711');
      const open = readdirSync(config.stateDirectory, { withFileTypes: true }).filter(
        ({ name }) => (statSync(path.join(config.stateDirectory, name)).mode & 0o077) !== 0,
      );
      assert.deepEqual(open, []);
    } finally {
      rmSync(ownerOf);
    }
  });
});

test('every container has its own folder, readable by no other', async () => {
  await inFolder(async (config) => {
    await prepareState(config, NOW);
    const files = contents(config.stateDirectory);
    for (const file of ['ca.crt', 'server.crt', 'server.key', 'tokens.csv', 'bus-password', 'service.env']) {
      assert.ok(files.has(`apiserver/${file}`), file);
    }
    for (const folder of ['scheduler', 'controller-manager', 'node-1', 'node-2']) {
      for (const file of ['ca.crt', 'token', 'service.env'])
        assert.ok(files.has(`${folder}/${file}`), `${folder}/${file}`);
    }
    for (const file of ['fencer/ca.crt', 'fencer/token', 'storage/ca.crt', 'storage/master.key'])
      assert.ok(files.has(file), file);
    for (const file of ['kubelet-client.crt', 'kubelet-client.key', 'service-account.key'])
      assert.ok(files.has(`apiserver/${file}`), file);
    const apiServers = new X509Certificate(files.get('apiserver/kubelet-client.crt') ?? '');
    assert.equal(apiServers.subject, 'O=holdfast:api-servers\nCN=kube-apiserver-kubelet-client');
    for (const file of ['front-proxy-ca.crt', 'front-proxy-client.crt', 'front-proxy-client.key'])
      assert.ok(files.has(`apiserver/${file}`), file);
    for (const file of ['pod-gc-token', 'certificates-token', 'cluster-signing.key'])
      assert.ok(files.has(`controller-manager/${file}`), file);
    const kubelet = new X509Certificate(files.get('node-1/kubelet.crt') ?? '');
    assert.deepEqual([kubelet.checkHost('node-1'), kubelet.checkHost('node-2')], ['node-1', undefined]);
    for (const name of ['redis', 'nats', 'scheduler', 'storage']) {
      const server = new X509Certificate(files.get(`${name}/server.crt`) ?? '');
      assert.deepEqual([server.checkHost(name), server.checkHost('apiserver-1')], [name, undefined]);
      assert.ok(files.has(`${name}/server.key`));
    }
    for (const file of ['redis/redis.conf', 'redis/ca.crt', 'nats/nats.conf', 'kubeconfig'])
      assert.ok(files.has(file), file);
    for (const file of files.keys()) {
      assert.equal(statSync(path.join(config.stateDirectory, file)).mode & 0o077, 0, file);
    }
  });
});

test('the kubeconfig has a context for each API server, and shares no name with the embedded form', async () => {
  await inFolder(async (config) => {
    await prepareState(config, NOW);
    const text = contents(config.stateDirectory).get('kubeconfig') ?? '';
    const valuesOf = (key: string): readonly string[] =>
      [...text.matchAll(new RegExp(`^ *-? ?${key}: (\\S+)$`, 'gm'))].map(([, value = '']) => value);
    assert.deepEqual(valuesOf('server'), ['https://127.0.0.1:7443', 'https://127.0.0.1:7444']);
    assert.deepEqual(valuesOf('cluster'), ['holdfast-compose', 'holdfast-compose-2']);
    assert.deepEqual(valuesOf('current-context'), ['holdfast-compose']);
    assert.ok(!valuesOf('name').includes('holdfast'));
  });
});

test('the certificate names every API server', async () => {
  await inFolder(async (config) => {
    await prepareState(config, NOW);
    const certificate = new X509Certificate(contents(config.stateDirectory).get('apiserver/server.crt') ?? '');
    for (const name of ['apiserver-1', 'apiserver-2', 'localhost']) assert.equal(certificate.checkHost(name), name);
    assert.equal(certificate.checkIP('127.0.0.1'), '127.0.0.1');
  });
});

test('the console has a certificate for this machine and no credential; the kubeconfig says where it is', async () => {
  await inFolder(async (config) => {
    await prepareState(config, NOW);
    const files = contents(config.stateDirectory);
    const own = [...files.keys()].filter((file) => file.startsWith('console/'));
    assert.deepEqual(own, ['console/ca.crt', 'console/server.crt', 'console/server.key']);
    const certificate = new X509Certificate(files.get('console/server.crt') ?? '');
    assert.deepEqual(
      [certificate.checkIP('127.0.0.1'), certificate.checkHost('localhost'), certificate.checkHost('apiserver-1')],
      ['127.0.0.1', 'localhost', undefined],
    );
    assert.equal(readAccess(path.join(config.stateDirectory, 'kubeconfig')).console, 'https://127.0.0.1:6480');
  });
});

test('a second run changes nothing; a new node only adds', async () => {
  await inFolder(async (config) => {
    await prepareState(config, NOW);
    const first = contents(config.stateDirectory);
    await prepareState(config, NOW);
    assert.deepEqual(contents(config.stateDirectory), first);
    await prepareState({ ...config, nodes: [...config.nodes, 'node-3'] }, NOW);
    const grown = contents(config.stateDirectory);
    assert.ok(grown.has('node-3/token'));
    for (const [file, text] of first) {
      const listsEverybody = [
        'apiserver/tokens.csv',
        'tokens.csv',
        'nats/nats.conf',
        'observe/nodes.json',
        'secrets/passwords.json',
      ];
      if (!listsEverybody.includes(file)) assert.equal(grown.get(file), text, file);
    }
  });
});

test('certificates are renewed before they expire', async () => {
  await inFolder(async (config) => {
    await prepareState(config, NOW);
    const before = contents(config.stateDirectory).get('apiserver/server.crt');
    await prepareState(config, NOW + YEARS_3_MS);
    assert.notEqual(contents(config.stateDirectory).get('apiserver/server.crt'), before);
  });
});

test('an unusable state directory is reported with the next step, and without a password', async () => {
  for (const [spoil, says] of [
    [
      (folder: string) => writeFileSync(path.join(folder, 'pki'), ''),
      /pki.* Remove .* another one with --state-dir\.$/,
    ],
    [(folder: string) => writeFileSync(path.join(folder, 'redis'), ''), /redis.* another one with --state-dir\.$/],
    [
      (folder: string) => {
        mkdirSync(path.join(folder, 'secrets'));
        writeFileSync(path.join(folder, 'secrets', 'passwords.json'), '{"redis":"hidden",');
      },
      /^secrets\/passwords\.json .* it is not JSON Restore/,
    ],
  ] as const) {
    await inFolder(async (config) => {
      spoil(config.stateDirectory);
      await assert.rejects(
        prepareState(config, NOW),
        (error) => error instanceof OperatorError && says.test(`${error.message} ${error.nextStep}`),
      );
    });
  }
});

test('every node has its own secrets', async () => {
  await inFolder(async (config) => {
    await prepareState(config, NOW);
    const files = contents(config.stateDirectory);
    assert.notEqual(files.get('node-1/token'), files.get('node-2/token'));
    assert.notEqual(files.get('node-1/service.env'), files.get('node-2/service.env'));
    assert.ok(!(files.get('node-1/service.env') ?? '').includes('HOLDFAST_STORE'));
  });
});
