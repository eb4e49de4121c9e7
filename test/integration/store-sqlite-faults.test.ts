import { strict as assert } from 'node:assert';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createIds, createSilentLog, createSystemClock, createSystemRandom, OperatorError } from '@holdfast/platform';
import type { Change } from '@holdfast/store';
import { changesUpTo, checkChain } from '@holdfast/store/contract';
import { createSqliteStore } from '@holdfast/store/sqlite';
import { NODE_FLAGS } from '../support/node-flags.ts';

const KILLS = 8;
const WRITERS = 16;
const LOAD_MAIN = fileURLToPath(new URL('../support/sqlite-load-main.ts', import.meta.url));

interface Acknowledgement {
  readonly tag: string;
  readonly firstRevision: number;
}

function open(directory: string) {
  const ids = createIds(createSystemRandom());
  return createSqliteStore({ directory, clock: createSystemClock(), ids, log: createSilentLog() });
}

/** Runs the load in a process of its own and kills it after so many acknowledgements; answers all that it printed. */
async function loadUntilKilled(directory: string, run: number, acknowledgements: number): Promise<Acknowledgement[]> {
  const child = spawn(process.execPath, [...NODE_FLAGS, LOAD_MAIN, directory, String(WRITERS), `run${run}`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  let lines = 0;
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    output += chunk;
    lines += chunk.split('\n').length - 1;
    if (lines >= acknowledgements) child.kill('SIGKILL');
  });
  const [, signal] = await once(child, 'close');
  assert.equal(signal, 'SIGKILL', 'the load ran until it was killed');
  const whole = output.slice(0, output.lastIndexOf('\n')).split('\n');
  return whole.map((line): Acknowledgement => JSON.parse(line));
}

function assertBatchesWhole(changes: readonly Change[]): void {
  const revisionsOfTag = new Map<string, number[]>();
  for (const { value, revision } of changes) {
    const { tag }: Acknowledgement = JSON.parse(value);
    revisionsOfTag.set(tag, [...(revisionsOfTag.get(tag) ?? []), revision]);
  }
  for (const [tag, [first = 0, ...rest]] of revisionsOfTag) {
    assert.deepEqual(rest, [first + 1], `both halves of ${tag} are there, once, one after the other`);
  }
}

test(`sqlite: ${KILLS} x kill -9 under load: no acknowledged write is lost, no write exists twice or partially`, async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'holdfast-sqlite-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const acknowledged: Acknowledgement[] = [];
  for (let run = 0; run < KILLS; run++) {
    acknowledged.push(...(await loadUntilKilled(directory, run, 150 + 70 * run)));
    const store = await open(directory);
    const changes = await changesUpTo(store, 0, await store.currentRevision());
    checkChain(changes);
    assertBatchesWhole(changes);
    for (const { tag, firstRevision } of acknowledged) {
      for (const change of changes.slice(firstRevision - 1, firstRevision + 1)) {
        assert.ok(change.value.includes(`"${tag}"`), `${tag} is kept at ${firstRevision}`);
      }
    }
    await store.close();
  }
  t.diagnostic(`${acknowledged.length} acknowledged batches`);
});

test('sqlite: a directory in use by another process is refused, and is free when that process was killed', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'holdfast-sqlite-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const child = spawn(process.execPath, [...NODE_FLAGS, LOAD_MAIN, directory, '1', 'run'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  await assert.rejects(open(directory), (error) => error instanceof OperatorError && error.code === 'STORE_IN_USE');
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
  const store = await open(directory);
  assert.ok((await store.currentRevision()) > 0);
  await store.close();
});
