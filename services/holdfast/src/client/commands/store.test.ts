import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { createIds, createSilentLog, createSystemClock, createSystemRandom } from '@holdfast/platform';
import { createSqliteStore } from '@holdfast/store/sqlite';
import { runCommand } from '../run.ts';

const clock = createSystemClock();

test('store adopt ends the halt of a data directory after a confirmation, and warns of its risk', async (t) => {
  const directory = await mkdtemp(path.join(tmpdir(), 'holdfast-adopt-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const lines: string[] = [];
  const note = (line: string): void => void lines.push(line);
  const run = (...argv: readonly string[]): Promise<number> =>
    runCommand('store', argv, { print: note, tell: note, env: {}, clock });
  const flag = `--data-dir=${directory}`;
  assert.equal(await run('adopt', flag, '--confirm'), 1);
  assert.match(lines.join('\n'), /holds no store/);
  const ids = createIds(createSystemRandom());
  const open = () =>
    createSqliteStore({ directory: path.join(directory, 'store'), clock, ids, log: createSilentLog() });
  const store = await open();
  store.halt('two histories');
  await store.close();
  await assert.rejects(open(), /two histories/);
  assert.equal(await run('adopt', flag), 1);
  assert.match(lines.join('\n'), /Warning: what was written after.*--confirm/s);
  await assert.rejects(open(), /two histories/);
  assert.equal(await run('adopt', flag, '--confirm', '--json'), 0);
  assert.ok(JSON.parse(lines.at(-1) ?? '').revision > 0);
  const adopted = await open();
  assert.equal(adopted.lineage().epoch, 2);
  await adopted.close();
});
