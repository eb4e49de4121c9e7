import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { CommandHost } from '../support/command-host.ts';
import { holdfast, MAIN, type Ran } from '../support/holdfast-command.ts';
import { kubectl } from '../support/kubectl.ts';
import { NODE_FLAGS } from '../support/node-flags.ts';
import { waitFor } from '../support/wait.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-named-'));
const user = path.join(folder, 'user');
const config = path.join(user, '.kube', 'config');
mkdirSync(user);
const environment = [`XDG_STATE_HOME=${folder}/state`, `HOME=${user}`, 'KUBECONFIG='];
const host = new CommandHost(environment);
/** Most of the time of a command in a process of its own would be that of its modules. */
const run = (...args: readonly string[]): Promise<Ran> => host.run(...args);

after(async () => {
  await run('down', '--all');
  await host.stop();
  rmSync(folder, { recursive: true, force: true });
});

interface Ready {
  readonly kubeconfig: string;
  readonly pid: number;
  readonly url: string;
}

const up = async (...flags: readonly string[]): Promise<Ready> => readyOf(await run('up', '-d', '--json', ...flags));

function readyOf({ code, stdout, stderr }: Ran): Ready {
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '');
}

const isAlive = (pid: number): boolean =>
  existsSync(`/proc/${pid}/stat`) && !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));

/** A pod whose one process can be found by its argument. */
const podOf = (mark: string): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'one' },
    spec: { terminationGracePeriodSeconds: 1, containers: [{ name: 'main', image: 'none', command: ['sleep', mark] }] },
  });

const processesOf = (mark: string): readonly string[] =>
  readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith(`sleep\0${mark}\0`);
    } catch {
      return false;
    }
  });

async function runPod(kubeconfig: string, mark: string): Promise<void> {
  await kubectl(kubeconfig, ['apply', '-f', '-'], podOf(mark));
  await waitFor('the process of the pod', () => processesOf(mark).length > 0);
}

test('clusters run side by side in the background, are listed, and leave nothing', async () => {
  // In a process of its own: the server lives on without its command.
  const first = readyOf(await holdfast(['up', '-d', '--json', '--merge', '--nodes', '2'], environment));
  const second = await up('--name', 'two', '--switch', '--memory');
  assert.notEqual(first.url, second.url);
  assert.match(readFileSync(config, 'utf8'), /current-context: holdfast-two/);
  assert.match(await kubectl(config, ['--context', 'holdfast-default', 'get', 'nodes', '-o', 'name']), /node-2/);

  const status = await run('status', '--json');
  const { state, nodes, health, version, pid } = JSON.parse(status.stdout);
  assert.deepEqual([status.code, state, nodes, health, pid], [0, 'running', { ready: 2, total: 2 }, [], first.pid]);
  assert.match(version, /^v1\.32/);
  assert.match((await run('list')).stdout, /^NAME .*\ndefault +running +2\/2 .*\ntwo +running +1\/1 /);

  assert.equal(JSON.parse((await run('up', '-d', '--json')).stdout).alreadyRan, true);
  const other = await run('up', '-d', '--nodes', '3');
  assert.deepEqual([other.code, /runs already, and other flags/.test(other.stderr)], [1, true]);

  await runPod(first.kubeconfig, '987654.1');
  assert.match((await run('down', '--keep-data')).stdout, /is stopped; its data are in/);
  assert.deepEqual([processesOf('987654.1'), isAlive(first.pid)], [[], false]);
  assert.doesNotMatch(readFileSync(config, 'utf8'), /holdfast-default/);
  const again = await up();
  assert.equal(again.url, first.url, 'the port stays');
  assert.match(await kubectl(again.kubeconfig, ['get', 'pod', 'one', '-o', 'name']), /pod\/one/);

  assert.match((await run('down', '--all')).stdout, /"default" is gone[^]*"two" is gone/);
  assert.deepEqual(readdirSync(path.join(folder, 'state')), []);
  assert.equal(existsSync(config), false, '--merge made it, and nothing else is in it');
  assert.deepEqual([processesOf('987654.1'), isAlive(again.pid), isAlive(second.pid)], [[], false, false]);
  const absent = await run('down');
  assert.deepEqual([absent.code, absent.stdout], [0, 'There is no cluster "default".\n']);
});

test('down never ends a foreign process, and ends the pods that a killed server left', async () => {
  const { pid, kubeconfig } = await up();
  await runPod(kubeconfig, '987654.2');
  process.kill(pid, 'SIGKILL');
  await waitFor('the end of the server', () => !isAlive(pid));
  assert.ok(processesOf('987654.2').length > 0);
  // As if the number were given to another process since.
  const foreign = spawn('sleep', ['60']);
  const file = path.join(folder, 'state', 'holdfast', 'default', 'cluster.json');
  const record = JSON.parse(readFileSync(file, 'utf8'));
  writeFileSync(file, JSON.stringify({ ...record, process: { ...record.process, pid: foreign.pid } }));
  assert.equal(JSON.parse((await run('status', '--json')).stdout).state, 'stopped');
  assert.match((await run('down')).stdout, /is gone/);
  assert.equal(foreign.exitCode ?? foreign.signalCode, null);
  foreign.kill();
  assert.deepEqual(processesOf('987654.2'), []);
});

test('Ctrl-C of a cluster in the foreground stops it once and keeps its data', async () => {
  const args = ['up', '--name', 'front', '--nodes', '1'];
  const child = spawn('env', [...environment, process.execPath, ...NODE_FLAGS, MAIN, ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  await waitFor('it runs', () => said.includes('Ctrl-C stops it.'));
  child.kill('SIGINT');
  assert.equal(await ended, 0, said);
  const log = readFileSync(path.join(path.dirname(recordOf('front')), 'log'), 'utf8');
  assert.equal(log.match(/"event":"ready"/g)?.length, 1, 'no second server looks for pods');
  const record = JSON.parse(readFileSync(recordOf('front'), 'utf8')) as Partial<Recorded>;
  assert.equal(record.process, undefined);
  assert.match((await run('down', '--name', 'front')).stdout, /is gone/);
});

const recordOf = (name: string): string => path.join(folder, 'state', 'holdfast', name, 'cluster.json');

/** Starts the cluster and kills its server; `change` is what the record says then. */
async function crashed(name: string, change: (record: Recorded) => Partial<Recorded> = () => ({})): Promise<void> {
  const { pid } = await up('--name', name);
  process.kill(pid, 'SIGKILL');
  await waitFor('the end of the server', () => !isAlive(pid));
  const record: Recorded = JSON.parse(readFileSync(recordOf(name), 'utf8'));
  writeFileSync(recordOf(name), JSON.stringify({ ...record, ...change(record) }));
}

interface Recorded {
  readonly directory: string;
  readonly process: { readonly pid: number; readonly began: string };
}

test('down of a killed server needs neither the default port nor the directory of its start', async () => {
  const taken = createServer();
  // A cluster of somebody else may have it already.
  const listened = new Promise((resolve) => taken.once('error', resolve).once('listening', resolve));
  taken.listen(6443, '127.0.0.1');
  await listened;
  await crashed('moved', () => ({ directory: path.join(folder, 'gone') }));
  const { code, stdout, stderr } = await run('down', '--name', 'moved');
  taken.close();
  assert.deepEqual([code, stdout], [0, 'The cluster "moved" is gone.\n'], stderr);
});

test('down --all goes on after a cluster whose server does not start again; after another boot it needs none', async () => {
  await crashed('broken');
  const store = path.join(path.dirname(recordOf('broken')), 'data', 'store', 'store.sqlite');
  writeFileSync(store, 'none'.repeat(4096));
  // What was written since the last checkpoint is there: it may be every page of a young database.
  rmSync(`${store}-wal`, { force: true });
  await up('--name', 'sound', '--memory');
  const { code, stdout, stderr } = await run('down', '--all');
  assert.deepEqual([code, stdout], [1, 'The cluster "sound" is gone.\n'], stderr);
  assert.match(stderr, /cluster "broken" left, and [^]*did not start[^]*\n {2}Correct that[^]*Or restart this machine/);
  const record: Recorded = JSON.parse(readFileSync(recordOf('broken'), 'utf8'));
  const began = record.process.began.replace(/.*\//, 'another-boot/');
  writeFileSync(recordOf('broken'), JSON.stringify({ ...record, process: { ...record.process, began } }));
  assert.equal((await run('down', '--all')).stdout, 'The cluster "broken" is gone.\n');
});

test('a start that fails says why and leaves nothing; a broken kubeconfig is refused before it', async () => {
  const failed = await run('up', '-d', '--name', 'bad', '--scheduler-config', path.join(folder, 'none.yaml'));
  assert.notEqual(failed.code, 0);
  assert.match(failed.stderr, /^holdfast: the cluster "bad" did not start: .*none\.yaml.*\n {2}\S/);
  writeFileSync(config, 'contexts: [');
  const broken = await run('up', '-d', '--name', 'bad', '--merge');
  assert.match(broken.stderr, /kubeconfig .* is broken and stays as it is/);
  assert.equal((await run('up', '-d', '--name', 'No!')).code, 2);
  assert.equal((await run('list')).stdout, '');
  const absent = await run('status', '--name', 'bad');
  assert.deepEqual([absent.code, /there is no cluster "bad"\n {2}.*holdfast up/.test(absent.stderr)], [2, true]);
});

/** Runs `up` in a process of its own, and ends it as soon as it has a server. Answers the number of that server. */
async function interruptedUp(name: string): Promise<number> {
  const child = spawn('env', [...environment, process.execPath, ...NODE_FLAGS, MAIN, 'up', '-d', '--name', name], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  const pid = await waitFor('the server', () => {
    const record = existsSync(recordOf(name)) ? JSON.parse(readFileSync(recordOf(name), 'utf8')) : undefined;
    return record?.process?.pid as number | undefined;
  });
  child.kill('SIGINT');
  assert.equal(await ended, 130, said);
  assert.match(said, new RegExp(`the start of the cluster "${name}" was interrupted`));
  return pid;
}

test('Ctrl-C during a start in the background ends the server, too, and leaves nothing', async () => {
  const pid = await interruptedUp('hasty');
  assert.deepEqual([isAlive(pid), existsSync(path.dirname(recordOf('hasty')))], [false, false]);
});

test('down looks after what an interrupted start of an older cluster may have left', async () => {
  await up('--name', 'older');
  await run('down', '--name', 'older', '--keep-data');
  const pid = await interruptedUp('older');
  const record: Recorded = JSON.parse(readFileSync(recordOf('older'), 'utf8'));
  assert.deepEqual([isAlive(pid), record.process.pid], [false, pid]);
  assert.match((await run('down', '--name', 'older')).stdout, /is gone/);
});

test('a context that cannot be added ends the start: the command does not wait for its server', async () => {
  mkdirSync(path.dirname(config), { recursive: true });
  writeFileSync(config, '');
  writeFileSync(`${config}.lock`, '');
  const { code, stderr } = await run('up', '-d', '--name', 'shut', '--memory', '--merge');
  rmSync(`${config}.lock`);
  assert.deepEqual([code, /is locked by another program/.test(stderr)], [1, true], stderr);
  assert.equal(JSON.parse((await run('status', '--name', 'shut', '--json')).stdout).state, 'stopped');
  assert.match((await run('down', '--name', 'shut')).stdout, /is gone/);
});
