import assert from 'node:assert/strict';
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createSilentLog, createSystemClock } from '@holdfast/platform';
import { readLogFile } from '../../adapters/log-file.ts';
import { openLogTimes } from '../../adapters/log-times.ts';
import { containerConfig, eventually, sandboxConfig } from '../contract.ts';
import { partsPath, rotate } from './log-keeper.ts';
import { timesPath } from './log-times.ts';
import { createProcessRuntime } from './process-runtime.ts';

const clock = createSystemClock();

function logOf(t: TestContext, text = ''): string {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-keeper-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const path = join(directory, 'log');
  writeFileSync(path, text);
  return path;
}

async function textOf(blocks: AsyncIterable<Uint8Array>): Promise<string> {
  let text = '';
  for await (const block of blocks) text += Buffer.from(block).toString();
  return text;
}

const lines = (from: number, to: number): string =>
  Array.from({ length: to - from }, (_, i) => `line ${from + i}\n`).join('');

test('containerLogMaxFiles: old parts stay up to the limit, and only the current one is shown', async (t) => {
  const path = logOf(t);
  for (let part = 0; part < 7; part++) {
    appendFileSync(path, lines(part * 1_000, part * 1_000 + 1_000));
    await rotate(path, { maxBytes: 5_000, maxFiles: 3 });
  }
  const begins = readFileSync(partsPath(path), 'utf8').trim().split('\n').map(Number);
  assert.equal(begins.length, 3);
  assert.equal(begins.at(-1), statSync(path).size);
  appendFileSync(path, 'now\n');
  assert.equal(await textOf(readLogFile(clock, { path })), 'now\n');
  assert.equal(await textOf(readLogFile(clock, { path, tailLines: 10 })), 'now\n');
  const bytes = readFileSync(path);
  assert.deepEqual(bytes.subarray(0, begins[0]), Buffer.alloc(begins[0] ?? 0), 'the oldest parts are gone');
  assert.equal(bytes.subarray(begins[0], begins[1]).toString(), lines(5_000, 6_000));
});

test('a part starts at a line boundary; a short log stays unchanged', async (t) => {
  const path = logOf(t, 'short\n');
  await rotate(path, { maxBytes: 100, maxFiles: 5 });
  assert.ok(!existsSync(partsPath(path)));
  appendFileSync(path, `${'x'.repeat(200)}\nhalf a`);
  await rotate(path, { maxBytes: 100, maxFiles: 5 });
  appendFileSync(path, ' line\n');
  assert.equal(await textOf(readLogFile(clock, { path })), 'half a line\n');
});

test('a log follower sees every line once, however often the log is rotated', async (t) => {
  const path = logOf(t, 'begin\n');
  let isOver = false;
  t.after(() => {
    isOver = true;
  });
  let seen = '';
  const following = (async () => {
    for await (const block of readLogFile(clock, { path, isOver: async () => isOver })) seen += Buffer.from(block);
  })();
  let all = 'begin\n';
  await eventually(() => seen === all, 'it reads');
  for (let part = 0; part < 12; part++) {
    const text = lines(part * 500, part * 500 + 500);
    appendFileSync(path, text);
    all += text;
    await rotate(path, { maxBytes: 1_000, maxFiles: 3 });
    // The maximum lag: one part.
    await eventually(() => seen.length >= all.length - text.length, 'it reads on');
  }
  isOver = true;
  await following;
  assert.equal(seen, all);
});

test('a slow log reader continues with the remaining lines, and never sees removed parts as zeros', async (t) => {
  const path = logOf(t, lines(0, 30_000));
  const reader = readLogFile(clock, { path });
  const first = await reader.next();
  for (let part = 0; part < 4; part++) {
    appendFileSync(path, lines(30_000 + part * 1_000, 31_000 + part * 1_000));
    await rotate(path, { maxBytes: 1_000, maxFiles: 2 });
  }
  const rest = await textOf(reader);
  assert.ok(!rest.includes('\0'));
  assert.ok(Buffer.from(first.value ?? []).length + rest.length < statSync(path).size);
});

test('a copy, when a range cannot be punched out, does not restore removed ranges as zeros', async (t) => {
  const path = logOf(t);
  for (let part = 0; part < 10; part++) {
    appendFileSync(path, lines(0, 20_000));
    await rotate(path, { maxBytes: 1_000, maxFiles: 2 }, async () => true);
  }
  const [begin = 0] = readFileSync(partsPath(path), 'utf8').split('\n').map(Number);
  const all = readFileSync(path, 'utf8');
  appendFileSync(path, lines(0, 20_000));
  await rotate(path, { maxBytes: 1_000, maxFiles: 2 }, async () => false);
  assert.ok(begin > 0);
  assert.equal(readFileSync(`${path}.1`, 'utf8'), all.slice(begin) + lines(0, 20_000));
  assert.equal(statSync(path).size, 0);
});

test('lines keep their times when the start of their log is removed', async (t) => {
  const path = logOf(t, 'old\nnew\n');
  writeFileSync(timesPath(path), '4 1000\n8 2000\n');
  const times = openLogTimes(path);
  assert.deepEqual([await times.at(0), await times.at(4)], [1000, 2000]);
  await rotate(path, { maxBytes: 1, maxFiles: 1 });
  appendFileSync(path, 'third\n');
  appendFileSync(timesPath(path), '14 3000\n');
  assert.equal(readFileSync(timesPath(path), 'utf8'), '14 3000\n');
  assert.equal(await times.at(8), 3000);
});

test('containerLogMaxSize: the supervisor truncates logs while their follower misses nothing', async (t) => {
  const stateDirectory = mkdtempSync(join(tmpdir(), 'holdfast-logs-'));
  const logs = { maxBytes: 2_000, maxFiles: 100, checkMs: 20 };
  const abilities = { mounts: false, user: 'any' } as const;
  const options = { stateDirectory, clock, log: createSilentLog(), nodeAddress: () => '192.0.2.1', logs, abilities };
  const runtime = createProcessRuntime(options);
  t.after(async () => {
    await runtime.shutdown(0);
    rmSync(stateDirectory, { recursive: true, force: true });
  });
  const go = join(stateDirectory, 'go');
  const sandbox = await runtime.runSandbox(sandboxConfig('u1'));
  const write = 'while [ $i -lt 2000 ]; do echo line $i; i=$((i+1)); [ $((i % 200)) = 0 ] && sleep 0.1; done';
  const script = `echo line 0; while [ ! -e ${go} ]; do sleep 0.02; done; i=1; ${write}; exec sleep 600`;
  const id = await runtime.createContainer(sandbox, containerConfig(['/bin/sh', '-c', script]));
  await runtime.startContainer(id);
  const [status] = (await runtime.list()).flatMap(({ containers }) => containers);
  const path = status?.logPath ?? '';
  let isOver = false;
  t.after(() => {
    isOver = true;
  });
  let seen = '';
  const following = (async () => {
    for await (const block of readLogFile(clock, { path, isOver: async () => isOver })) seen += Buffer.from(block);
  })();
  await eventually(() => seen === 'line 0\n', 'it is read');
  writeFileSync(go, '');
  await eventually(() => seen.includes('line 1999\n'), 'everything was written and read');
  await eventually(() => existsSync(partsPath(path)), 'it was rotated');
  isOver = true;
  await following;
  assert.equal(seen, lines(0, 2_000));
});
