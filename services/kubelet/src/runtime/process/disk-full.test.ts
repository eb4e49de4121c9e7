import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createSilentLog, createSystemClock } from '@holdfast/platform';
import { unlessRoot } from '@holdfast/testing';
import { readLogFile } from '../../adapters/log-file.ts';
import { containerConfig, eventually, sandboxConfig } from '../contract.ts';
import type { ContainerStatus } from '../port.ts';
import { rotate } from './log-keeper.ts';
import { createProcessRuntime, type ProcessRuntime } from './process-runtime.ts';
import { RecordKeeper } from './record-keeper.ts';

const clock = createSystemClock();

/** A separate disk, small enough to be filled quickly. */
function smallDisk(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'holdfast-disk-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=2m,mode=0700', 'holdfast-test', path], { timeout: 10_000 });
  t.after(() => {
    execFileSync('umount', ['--lazy', path], { timeout: 10_000 });
    rmSync(path, { recursive: true, force: true });
  });
  return path;
}

function fill(disk: string): () => void {
  const file = openSync(join(disk, 'ballast'), 'w');
  const block = Buffer.alloc(4_096, 1);
  for (let isFull = false; !isFull; ) {
    try {
      writeSync(file, block);
    } catch (error) {
      assert.match(String(error), /ENOSPC/);
      isFull = true;
    }
  }
  closeSync(file);
  return () => rmSync(join(disk, 'ballast'));
}

async function statusOf(runtime: ProcessRuntime, id: string): Promise<ContainerStatus> {
  const containers = (await runtime.list()).flatMap((sandbox) => sandbox.containers);
  return containers.find((each) => each.id === id) ?? assert.fail('it is known');
}

const skip = unlessRoot();

test('a full disk ends no supervisor: running containers are seen to their end, new ones are refused with the reason', {
  skip,
}, async (t) => {
  const disk = smallDisk(t);
  const elsewhere = mkdtempSync(join(tmpdir(), 'holdfast-go-'));
  const options = { stateDirectory: disk, clock, log: createSilentLog(), nodeAddress: () => '192.0.2.1' };
  const runtime = createProcessRuntime({ ...options, abilities: { mounts: false, user: 'any' } });
  t.after(async () => {
    await runtime.shutdown(0);
    rmSync(elsewhere, { recursive: true, force: true });
  });
  const go = join(elsewhere, 'go');
  const sandbox = await runtime.runSandbox(sandboxConfig('u1'));
  const script = `while [ ! -e ${go} ]; do echo line; sleep 0.02; done; exit 7`;
  const id = await runtime.createContainer(sandbox, containerConfig(['/bin/sh', '-c', script]));
  await runtime.startContainer(id);
  const makeRoom = fill(disk);
  await assert.rejects(runtime.runSandbox(sandboxConfig('u2')), /cannot be written, make room on its disk: ENOSPC/);
  writeFileSync(go, '');
  const ended = await eventually(async () => {
    const status = await statusOf(runtime, id);
    return status.state === 'exited' && status;
  }, 'its end is seen');
  assert.equal(ended.exitCode, 7);
  makeRoom();
  const record = join(disk, 'sandboxes', sandbox, `${id}.json`);
  await eventually(() => readFileSync(record, 'utf8').includes('"exited"'), 'the record follows');
  await runtime.runSandbox(sandboxConfig('u2'));
  assert.deepEqual((await runtime.list()).map(({ config }) => config.podUid).toSorted(), ['u1', 'u2']);
});

test('a log that fills the disk is still truncated, and its writer continues', { skip }, async (t) => {
  const disk = smallDisk(t);
  const log = join(disk, 'log');
  const writer = openSync(log, 'a');
  t.after(() => closeSync(writer));
  const line = `${'x'.repeat(4_095)}\n`;
  const write = (): number => writeSync(writer, line);
  for (let written = 0; written < 50; written++) write();
  fill(disk);
  assert.throws(() => {
    for (;;) write();
  }, /ENOSPC/);
  const before = statSync(log);
  await rotate(log, { maxBytes: 10_000, maxFiles: 5 });
  const after = statSync(log);
  assert.equal(after.size, before.size, 'nobody who reads along loses its place');
  assert.ok(after.blocks < before.blocks / 2, `${after.blocks} of ${before.blocks} blocks are left`);
  const lastLine = await textOf(readLogFile(clock, { path: log, tailLines: 1 }));
  write();
  const shown = await textOf(readLogFile(clock, { path: log }));
  assert.ok(shown.endsWith(line) && !shown.includes('\0'), 'what is written now is read, and no gap');
  assert.ok(!lastLine.includes('\0'));
});

test('on a disk that cannot free blocks a full log is emptied without a copy', { skip }, async (t) => {
  const disk = smallDisk(t);
  const log = join(disk, 'log');
  writeFileSync(log, 'some lines\n'.repeat(1_000));
  fill(disk);
  await rotate(log, { maxBytes: 10, maxFiles: 5 }, async () => false);
  assert.equal(statSync(log).size, 0);
});

async function textOf(blocks: AsyncIterable<Uint8Array>): Promise<string> {
  let text = '';
  for await (const block of blocks) text += Buffer.from(block).toString();
  return text;
}

test('records: a start is refused, an end is written later, a removed record never', () => {
  const fires: (() => void)[] = [];
  const timer = (_ms: number, fire: () => void) => {
    fires.push(fire);
    return { cancel: () => {} };
  };
  const keeper = new RecordKeeper({ ...clock, timer });
  let isFull = true;
  const written: string[] = [];
  const write = (what: string) => () => {
    if (isFull) throw new Error('no space left');
    written.push(what);
  };
  assert.throws(() => keeper.begin(write('new')), {
    code: 'Internal',
    message: /make room on its disk: no space left/,
  });
  keeper.keep('a', write('a running'));
  keeper.keep('a', write('a exited'));
  keeper.keep('b', write('b exited'));
  keeper.forget('b');
  fires.shift()?.();
  assert.deepEqual([written, fires.length], [[], 1], 'it goes on trying, once at a time');
  isFull = false;
  fires.shift()?.();
  assert.deepEqual([written, fires.length], [['a exited'], 0]);
});
