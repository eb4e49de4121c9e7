import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createSilentLog } from '@holdfast/platform';
import { createVirtualClock } from '@holdfast/platform/testing';
import { DEFAULT_LOG_LIMITS } from '../log-limits.ts';
import type { Engine } from './engine.ts';
import { LogKeeper } from './log-keeper.ts';

/** One line of the standard output, as the engine frames it. */
function frame(text: string): Buffer {
  const bytes = Buffer.from(`2026-01-01T00:00:00.000000001Z ${text}\n`);
  const head = Buffer.alloc(8);
  head[0] = 1;
  head.writeUInt32BE(bytes.length, 4);
  return Buffer.concat([head, bytes]);
}

test('the last lines of a container are kept when the engine closes what is followed before them', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-log-keeper-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const followed: (string | undefined)[] = [];
  const engine = {
    closed: new AbortController().signal,
    json: async () => ({ State: { Running: false } }),
    open: async ({ query }: { query: Record<string, string> }) => {
      followed.push(query['follow']);
      return query['follow'] === 'true' ? [] : [frame('last words')];
    },
  } as unknown as Engine;
  const keeper = new LogKeeper({
    engine,
    clock: createVirtualClock(),
    log: createSilentLog(),
    limits: DEFAULT_LOG_LIMITS,
  });
  const path = join(folder, '0.log');
  await keeper.drained({ id: 'one', path, tty: false });
  assert.match(readFileSync(path, 'utf8'), /stdout F last words\n$/);
  assert.deepEqual(followed, ['true', 'false']);
});
