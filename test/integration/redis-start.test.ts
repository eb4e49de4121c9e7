import { strict as assert } from 'node:assert';
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { redisStart } from '@holdfast/holdfast/setup';

const KEPT = '*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\n1\r\n';
const TRANSACTION = `*1\r\n$5\r\nMULTI\r\n${KEPT}${KEPT}*1\r\n$4\r\nEXEC\r\n`;

/** Starts a server that only says how it was called, in a folder with these parts of an append-only file. */
function start(t: TestContext, parts: Readonly<Record<string, string>>) {
  const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-redis-start-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const [files, programs] = [path.join(folder, 'appendonlydir'), path.join(folder, 'bin')];
  for (const each of [files, programs]) mkdirSync(each);
  for (const [name, content] of Object.entries(parts)) writeFileSync(path.join(files, name), content);
  writeFileSync(path.join(programs, 'redis-server'), '#!/bin/sh\necho "called with $*"\n');
  chmodSync(path.join(programs, 'redis-server'), 0o755);
  const script = path.join(folder, 'start.sh');
  writeFileSync(script, redisStart({ directory: folder, configFile: '/etc/redis/redis.conf' }));
  const env = { ...process.env, PATH: `${programs}:${process.env['PATH']}` };
  const said = execFileSync('sh', [script], { env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  assert.match(said, /^called with \/etc\/redis\/redis\.conf$/m);
  return Object.fromEntries(readdirSync(files).map((name) => [name, readFileSync(path.join(files, name), 'utf8')]));
}

test('redis: at its start a transaction that a kill has torn is cut off whole, in every part of the file', (t) => {
  for (let torn = 1; torn < TRANSACTION.length; torn += 7) {
    const part = `${KEPT}${TRANSACTION}${TRANSACTION.slice(0, -torn)}`;
    const whole = `${KEPT}${TRANSACTION}`;
    const left = start(t, { 'a.1.incr.aof': part, 'a.2.incr.aof': part });
    assert.deepEqual(left, { 'a.1.incr.aof': whole, 'a.2.incr.aof': whole }, `${torn} characters are missing`);
  }
});

test('redis: a start leaves a whole file, an empty one and no file alone', (t) => {
  for (const parts of [{}, { 'a.1.incr.aof': '' }, { 'a.1.incr.aof': TRANSACTION, 'a.1.base.rdb': 'REDIS' }]) {
    assert.deepEqual(start(t, parts), parts);
  }
});
