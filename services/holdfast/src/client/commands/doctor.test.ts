import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { formatKubeconfig } from '@holdfast/pki/kubeconfig';
import { createSystemClock } from '@holdfast/platform';
import { lockDataDirectory } from '../../embedded/data-directory-lock.ts';
import { ClusterHome, newRecord } from '../../local/cluster-home.ts';
import type { Finding } from '../doctor/finding.ts';
import { runCommand } from '../run.ts';

const clock = createSystemClock();

const examine = (...argv: readonly string[]) => examineIn({}, ...argv);

async function examineIn(env: Readonly<Record<string, string>>, ...argv: readonly string[]) {
  const lines: string[] = [];
  const print = (line: string): void => void lines.push(line);
  const code = await runCommand('doctor', argv, { print, tell: print, env, clock });
  return { code, lines };
}

test('doctor examines a machine without a cluster, and leaves nothing behind', async (t) => {
  const directory = mkdtempSync(path.join(tmpdir(), 'holdfast-doctor-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const { code, lines } = await examine(`--data-dir=${directory}`, '--port=0', '--json');
  const findings = lines.map((line) => JSON.parse(line) as Finding);
  assert.equal(code, 0);
  assert.deepEqual(
    findings.filter(({ verdict }) => verdict === 'problem'),
    [],
  );
  const names = findings.map(({ check }) => check);
  for (const name of ['data directory', 'port', 'disk', 'fsync', 'certificates', 'clock', 'runtimes', 'API'])
    assert.ok(names.includes(name), name);
  assert.deepEqual(readdirSync(directory), []);
});

test('doctor sees whether a cluster runs without holding its lock', async (t) => {
  const directory = mkdtempSync(path.join(tmpdir(), 'holdfast-doctor-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const flags = [`--data-dir=${directory}`, '--port=0'];
  const lock = await lockDataDirectory(directory);
  assert.match((await examine(...flags)).lines.join('\n'), /data directory: .* has a cluster that runs\n/);
  lock.release();
  const another = new DatabaseSync(path.join(directory, 'lock'), { readOnly: true });
  t.after(() => another.close());
  another.exec('BEGIN; SELECT 1 FROM sqlite_schema');
  assert.match((await examine(...flags)).lines.join('\n'), /that does not run\n/, 'two look at the same time');
});

test('a cluster that was stopped is no problem; one of another kubeconfig that does not answer is', async (t) => {
  const directory = mkdtempSync(path.join(tmpdir(), 'holdfast-doctor-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const kubeconfig = path.join(directory, 'kubeconfig');
  const server = `https://127.0.0.1:${await freePort()}`;
  const [caCertificate, token] = ['', 'none'];
  writeFileSync(kubeconfig, formatKubeconfig({ contexts: [{ name: 'one', server }], caCertificate, token }));
  const flags = [`--data-dir=${directory}`, '--port=0'];
  const lock = await lockDataDirectory(directory);
  assert.match((await examine(...flags)).lines.join('\n'), /problem {2}API: /, 'it runs and does not answer');
  lock.release();
  const stopped = await examine(...flags);
  assert.equal(stopped.code, 0, stopped.lines.join('\n'));
  assert.match(stopped.lines.join('\n'), /ok {7}API: the cluster does not run/);
  const named = await examine(...flags, `--kubeconfig=${kubeconfig}`);
  assert.match(named.lines.join('\n'), /problem {2}API: /);
});

async function listening(): Promise<{ readonly server: Server; readonly port: number }> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  return { server, port: address.port };
}

async function freePort(): Promise<number> {
  const { server, port } = await listening();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function usedPort(t: TestContext): Promise<number> {
  const { server, port } = await listening();
  t.after(() => server.close());
  return port;
}

test('doctor names a used port with what to do, and its exit code reports the problem', async (t) => {
  const port = await usedPort(t);
  const { code, lines } = await examine(`--port=${port}`, '--data-dir', path.join(tmpdir(), 'holdfast-none'));
  assert.equal(code, 1);
  assert.match(lines.join('\n'), new RegExp(`problem {2}port: 127.0.0.1:${port} is in use\n {9}Stop`));
});

test('doctor --name looks where the record of the cluster says, and knows no other name', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-doctor-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const env = { XDG_STATE_HOME: folder };
  const port = await usedPort(t);
  const home = new ClusterHome('two', env);
  home.write({ ...newRecord('two', 0, '/'), url: `https://127.0.0.1:${port}` });
  const { code, lines } = await examineIn(env, '--name=two');
  assert.equal(code, 1);
  assert.match(lines.join('\n'), new RegExp(`problem {2}port: 127.0.0.1:${port} is in use`));
  assert.match(lines.join('\n'), new RegExp(`data directory: ${home.dataDirectory} is new`));
  new ClusterHome('new', env).write(newRecord('new', 0, '/'));
  assert.match((await examineIn(env, '--name=new')).lines.join('\n'), /ok {7}port: 127\.0\.0\.1:0 is free/);
  for (const [argv, sentence] of [
    [['--name=tow'], /there is no cluster "tow"\n.*holdfast list/],
    [['--name=two', '--data-dir=.holdfast'], /--data-dir and --name both name a cluster\n.*Leave one/],
    [['--name=two', '--kubeconfig=x'], /--kubeconfig and --name both name a cluster\n.*Leave one/],
  ] as const) {
    const refused = await examineIn(env, ...argv);
    assert.equal(refused.code, 2, argv.join(' '));
    assert.match(refused.lines.join('\n'), sentence);
  }
});
