import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { eventually } from '@holdfast/platform/contract';
import { countLeftovers, removeLeftovers } from './leftovers.ts';

function makeFolder(t: TestContext): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-leftovers-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function startProcess(t: TestContext, args: readonly string[], cwd?: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, args, { stdio: 'ignore', ...(cwd === undefined ? {} : { cwd }) });
  t.after(() => child.kill('SIGKILL'));
  await once(child, 'spawn');
  return child;
}

function mount(target: string): void {
  const { status } = spawnSync('mount', ['-t', 'tmpfs', 'holdfast', target]);
  const advice = 'run the tests as root, with mount (Debian: apt-get install mount)';
  assert.equal(status, 0, `nothing can be mounted here: ${advice}`);
}

const ofOneThatBegins = (): string => spawnSync('cat', ['/proc/self/stat'], { encoding: 'utf8' }).stdout;
const ticksOf = (stat: string): number => Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]);

const WAIT = 'setInterval(() => {}, 1000)';

test('a cleaned-up test folder is removed, and nothing is reported', (t) => {
  const folder = makeFolder(t);
  assert.deepEqual(removeLeftovers(folder), []);
  assert.equal(existsSync(folder), false);
});

test('leftover files are reported and removed', (t) => {
  const folder = makeFolder(t);
  mkdirSync(path.join(folder, 'state', 'deep'), { recursive: true });
  writeFileSync(path.join(folder, 'state', 'deep', 'file'), 'x');
  assert.deepEqual(removeLeftovers(folder), ['state']);
  assert.equal(existsSync(folder), false);
});

test('the socket folder that all clusters of a user share may stay, a socket in it may not', (t) => {
  const shared = `holdfast-${process.getuid?.() ?? 0}`;
  const tidy = makeFolder(t);
  mkdirSync(path.join(tidy, shared));
  assert.deepEqual(removeLeftovers(tidy), []);
  assert.equal(existsSync(tidy), false);
  const untidy = makeFolder(t);
  mkdirSync(path.join(untidy, shared, 'sockets'), { recursive: true });
  assert.deepEqual(removeLeftovers(untidy), [shared]);
});

test('processes that name the folder or run in it are ended, no others', async (t) => {
  const folder = makeFolder(t);
  const other = makeFolder(t);
  const named = await startProcess(t, ['-e', WAIT, path.join(folder, 'configuration')]);
  const inside = await startProcess(t, ['-e', WAIT], folder);
  const elsewhere = await startProcess(t, ['-e', WAIT, `${folder}-of-others/file`], other);
  const ended = Promise.all([named, inside].map((child) => once(child, 'exit')));
  const told = removeLeftovers(folder);
  await ended;
  assert.deepEqual(
    new Set(told.map((line) => /^process (\d+) /.exec(line)?.[1])),
    new Set([named, inside].map(({ pid }) => String(pid))),
  );
  assert.equal(elsewhere.exitCode ?? elsewhere.signalCode, null);
});

test('a process that is about to end is not a leftover', async (t) => {
  const folder = makeFolder(t);
  await startProcess(t, ['-e', 'setTimeout(() => {}, 300)', path.join(folder, 'configuration')]);
  assert.deepEqual(removeLeftovers(folder), []);
});

test('a process older than the cleanup does not belong to its tests', async (t) => {
  const folder = makeFolder(t);
  const earlier = await startProcess(t, ['-e', WAIT], folder);
  // The machine counts beginnings in ticks: whatever begins from here on has begun in a later one.
  const begun = ticksOf(readFileSync(`/proc/${earlier.pid}/stat`, 'utf8'));
  await eventually(() => ticksOf(ofOneThatBegins()) > begun, 'the next tick');
  const module = path.join(import.meta.dirname, 'leftovers.ts');
  const code = `import('${module}').then(({ removeLeftovers }) => console.log(removeLeftovers('${folder}').length))`;
  const { stdout, stderr } = spawnSync(process.execPath, ['-e', code], { encoding: 'utf8', timeout: 60_000 });
  assert.equal(stdout, '0\n', stderr);
  assert.equal(existsSync(folder), false);
  assert.equal(earlier.exitCode ?? earlier.signalCode, null);
});

test('a directory that stays mounted keeps its files, and is reported', (t) => {
  const folder = makeFolder(t);
  const target = path.join(folder, 'a volume');
  mkdirSync(target);
  mount(target);
  writeFileSync(path.join(target, 'file'), 'x');
  const searchPath = process.env['PATH'];
  try {
    process.env['PATH'] = '/nowhere';
    const told = removeLeftovers(folder);
    assert.deepEqual(told, ['a volume', `${target} is still mounted: unmount it and remove ${folder}`]);
    assert.equal(existsSync(path.join(target, 'file')), true);
  } finally {
    process.env['PATH'] = searchPath;
    spawnSync('umount', ['-l', target]);
  }
});

test('mounts are released before files are removed', (t) => {
  const folder = makeFolder(t);
  const target = path.join(folder, 'a volume');
  mkdirSync(target);
  mount(target);
  writeFileSync(path.join(target, 'file'), 'x');
  assert.deepEqual(removeLeftovers(folder), ['a volume']);
  assert.equal(existsSync(folder), false);
  assert.ok(!readFileSync('/proc/self/mounts', 'utf8').includes(target));
});

test('a leftover of a suite counts as one failed test that names it', () => {
  const report = { passed: 3, failed: 1, skips: [], failures: ['✖ other'], ended: [], times: [] };
  assert.equal(countLeftovers(report, 'unit', []), report);
  const counted = countLeftovers(report, 'unit', ['state', 'process 7 (sleep 9)']);
  assert.deepEqual(counted, {
    ...report,
    failed: 2,
    failures: ['✖ other', '✖ leftovers of unit: its tests left these behind\n    state\n    process 7 (sleep 9)'],
  });
});
