import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { eventually } from '@holdfast/platform/contract';
import { writePackage } from './write-package.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-package-'));
const consumer = path.join(folder, 'consumer');
const PROGRAM_MS = 250_000;

const npm = (args: readonly string[], cwd: string): void => {
  const env = { PATH: process.env['PATH'], HOME: folder, npm_config_cache: path.join(folder, 'cache') };
  execFileSync('npm', [...args, '--offline', '--loglevel=error'], {
    cwd,
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
    timeout: PROGRAM_MS,
  });
};

/** Node and the programs of the consumer; nothing of the workspace. */
const run = (program: string, args: readonly string[]): string => {
  const env = { PATH: `${path.dirname(process.execPath)}:/usr/bin:/bin`, HOME: folder };
  return execFileSync(program, args, { cwd: consumer, env, encoding: 'utf8', timeout: PROGRAM_MS });
};

before(async () => {
  const source = path.join(folder, 'source');
  await writePackage(source);
  npm(['pack', source], folder);
  const tarball = readdirSync(folder).find((name) => name.endsWith('.tgz')) ?? '';
  mkdirSync(consumer);
  writeFileSync(path.join(consumer, 'package.json'), '{"private":true,"type":"module"}');
  npm(
    ['install', '--no-audit', '--no-fund', '--no-package-lock', '--ignore-scripts', path.join(folder, tarball)],
    consumer,
  );
});
after(() => rmSync(folder, { recursive: true, force: true }));

const TEST = `
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startCluster } from '@holdfast/cluster';
import { PODS } from '@holdfast/cluster/api';

test('pods run', async () => {
  await using cluster = await startCluster({ hollowNodes: 1, clock: 'virtual', https: true });
  const spec = { containers: [{ name: 'main', image: 'app' }] };
  const body = JSON.stringify({ metadata: { name: 'one' }, spec });
  await cluster.fetch('/api/v1/namespaces/default/pods', { method: 'POST', body });
  const map = 'apiVersion: v1\\nkind: ConfigMap\\nmetadata: {name: text}\\n';
  const headers = { 'content-type': 'application/yaml' };
  const made = await cluster.fetch('/api/v1/namespaces/default/configmaps', { method: 'POST', headers, body: map });
  assert.equal(made.status, 201);
  await using fork = await (await cluster.snapshot()).fork();
  await fork.advance('5s');
  const pod = await fork.client.get(PODS, { namespace: 'default', name: 'one' });
  assert.equal(pod.status.phase, 'Running');
  assert.match(cluster.kubeconfig, /server: https:/);
});

test('pods of a process node are processes', async () => {
  await using cluster = await startCluster({ processNodes: 1 });
  const main = { name: 'main', image: 'app', command: ['sh', '-c', 'exit 7'] };
  const body = JSON.stringify({ metadata: { name: 'one' }, spec: { restartPolicy: 'Never', containers: [main] } });
  await cluster.fetch('/api/v1/namespaces/default/pods', { method: 'POST', body });
  const ended = await cluster.until(async () => {
    const pod = await (await cluster.fetch('/api/v1/namespaces/default/pods/one')).json();
    return pod.status.containerStatuses?.[0].state.terminated;
  });
  assert.equal(ended.exitCode, 7);
});
`;

/** Runs a pod and ends without a stop. */
const CRASH = `
import { startCluster } from '@holdfast/cluster';

const cluster = await startCluster({ processNodes: 1 });
const main = { name: 'main', image: 'app', command: ['sleep', '1000'] };
const body = JSON.stringify({ metadata: { name: 'one' }, spec: { containers: [main] } });
await cluster.fetch('/api/v1/namespaces/default/pods', { method: 'POST', body });
await cluster.until(async () => {
  const pod = await (await cluster.fetch('/api/v1/namespaces/default/pods/one')).json();
  return pod.status.phase === 'Running';
});
process.exit(0);
`;

test('an installed package leaves nothing of process nodes, also without a stop', async () => {
  writeFileSync(path.join(consumer, 'crash.js'), CRASH);
  const nodes = path.join(folder, 'nodes');
  mkdirSync(nodes, { mode: 0o777 });
  run('env', [`TMPDIR=${nodes}`, process.execPath, 'crash.js']);
  await eventually(() => readdirSync(nodes).length === 0, 'the folder of the nodes to go');
});

test('an installed package runs a test without flags, far from the workspace', () => {
  writeFileSync(path.join(consumer, 'pods.test.js'), TEST);
  assert.match(run(process.execPath, ['--test', 'pods.test.js']), /pass 2\n/);
});

/** Tests fork what the suite has prepared, or start a cluster beside each other. */
const VITEST = `
import { PODS } from '@holdfast/cluster/api';
import { startCluster } from '@holdfast/cluster';
import { afterAll, beforeAll, expect, test } from 'vitest';

let cluster;
let prepared;
beforeAll(async () => {
  cluster = await startCluster({ hollowNodes: 1, clock: 'virtual' });
  const spec = { containers: [{ name: 'main', image: 'app' }] };
  const body = JSON.stringify({ metadata: { name: 'one' }, spec });
  await cluster.fetch('/api/v1/namespaces/default/pods', { method: 'POST', body });
  await cluster.advance('5s');
  prepared = await cluster.snapshot();
});
afterAll(() => cluster.stop());

test('a fork has the running pod', async () => {
  await using fork = await prepared.fork();
  const pod = await fork.client.get(PODS, { namespace: 'default', name: 'one' });
  expect(pod.status.phase).toBe('Running');
});

test('what a fork deletes stays in the others', async () => {
  await using fork = await prepared.fork();
  await fork.fetch('/api/v1/namespaces/default/pods/one', { method: 'DELETE' });
  await fork.advance('1m');
  await using other = await prepared.fork();
  const names = async (of) => (await of.client.list(PODS, { namespace: 'default' })).items.map((pod) => pod.metadata.name);
  expect([await names(fork), await names(other)]).toEqual([[], ['one']]);
});

test.concurrent.for([1, 2, 3])('clusters with a port, beside each other: %i', async () => {
  await using own = await startCluster({ https: true });
  expect((await own.fetch('/version')).status).toBe(200);
  expect(own.kubeconfig).toMatch(/server: https:/);
});
`;

test('an installed package runs suites of vitest without flags', () => {
  const own = path.join(import.meta.dirname, '..', '..', 'node_modules', 'vitest');
  symlinkSync(realpathSync(own), path.join(consumer, 'node_modules', 'vitest'));
  writeFileSync(path.join(consumer, 'pods.spec.js'), VITEST);
  const seen = run(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', '--no-color', 'pods.spec.js']);
  assert.match(seen, /Test Files +1 passed \(1\)\n +Tests +5 passed \(5\)/);
});

test('the program of an installed package runs a command with a cluster', () => {
  const program = path.join(consumer, 'node_modules', '.bin', 'holdfast');
  const seen = run(program, ['run', '--', 'sh', '-c', 'cat "$KUBECONFIG"']);
  assert.match(seen, /server: https:\/\/127\.0\.0\.1:\d+\n/);
});

const SCENARIOS = path.join(import.meta.dirname, '../../test/chaos/scenarios');

test('the program of an installed package plays scenarios and seeds, without planted bugs', () => {
  const program = path.join(consumer, 'node_modules', '.bin', 'holdfast');
  const played = JSON.parse(
    run(program, ['sim', path.join(SCENARIOS, 'isolate-node.yaml'), '--html', 'run.html', '--json']),
  );
  assert.deepEqual([played.event, played.holds, readdirSync(consumer).includes('run.html')], ['played', true, true]);
  const planted = path.join(SCENARIOS, 'planted', 'grace-extended.yaml');
  const env = { PATH: `${path.dirname(process.execPath)}:/usr/bin:/bin`, HOME: folder };
  const refused = spawnSync(program, ['sim', planted], { cwd: consumer, env, encoding: 'utf8' });
  assert.deepEqual([refused.status, /needs the planted bug .* in no package/.test(refused.stdout)], [2, true]);
  const files = readdirSync(path.join(consumer, 'node_modules/@holdfast/cluster/lib'), { recursive: true });
  assert.deepEqual(
    files.filter((file) => /plant/.test(String(file))),
    [],
  );
});

test('the program of an installed package tells an old Node what it needs', () => {
  const program = path.join(consumer, 'node_modules/@holdfast/cluster/bin/holdfast.cjs');
  const old = `Object.defineProperty(process, 'version', { value: 'v20.1.0' }); require(${JSON.stringify(program)});`;
  const { status, stderr } = spawnSync(process.execPath, ['-e', old], { encoding: 'utf8' });
  assert.deepEqual([status, stderr], [2, 'holdfast: Node v20.1.0 is too old\n  Use Node 24 or later.\n']);
});

test('the program of an installed package starts a cluster in the background and ends it', () => {
  const program = path.join(consumer, 'node_modules', '.bin', 'holdfast');
  const ready = run(program, ['up', '-d', '--memory', '--merge']);
  try {
    assert.match(ready, /"default" is ready after .*\n {2}API +https:\/\/127\.0\.0\.1:\d+\n/);
    assert.match(run(program, ['status']), /Nodes +1 of 1 ready\n[^]*Health +ok\n/);
    assert.match(run(program, ['get', 'nodes']), /node-1 +Ready/, 'the only cluster is meant');
    assert.match(readFileSync(path.join(folder, '.kube', 'config'), 'utf8'), /name: holdfast-default/);
  } finally {
    assert.match(run(program, ['down']), /"default" is gone/);
  }
});

test('the package has types, a licence, and no dependency that has to be fetched', () => {
  const home = path.join(consumer, 'node_modules', '@holdfast', 'cluster');
  const manifest = JSON.parse(readFileSync(path.join(home, 'package.json'), 'utf8'));
  assert.deepEqual(Object.keys(manifest.dependencies), manifest.bundleDependencies);
  assert.doesNotMatch(JSON.stringify(manifest), /workspace:|devDependencies/);
  for (const { types } of [manifest.exports['.'], manifest.exports['./api'], manifest.exports['./testenv']]) {
    assert.match(readFileSync(path.join(home, types), 'utf8'), /export/);
  }
  assert.ok(readdirSync(path.join(home, 'lib/services/console/built')).includes('index.html'));
  assert.match(readFileSync(path.join(home, 'LICENSE'), 'utf8'), /Apache License/);
  const files = readdirSync(path.join(home, 'lib'), { recursive: true }).map(String);
  assert.deepEqual(
    files.filter((file) => /\.test\.|(?<!\.d)\.ts$/.test(file)),
    [],
  );
});
