import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { tear } from './store-faults.ts';

test('a file of the store is torn at its end, and not again before the store has read it', (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-torn-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = path.join(folder, 'appendonly.aof.1.incr.aof');
  const whole = '*1\r\n$4\r\nPING\r\n';
  writeFileSync(file, whole);
  tear(file);
  const torn = readFileSync(file, 'utf8');
  assert.ok(torn.startsWith(whole) && torn.length > whole.length);
  tear(file);
  assert.equal(readFileSync(file, 'utf8'), torn);
  // The store has cut off what is half, and goes on.
  writeFileSync(file, whole + whole);
  tear(file);
  assert.ok(readFileSync(file, 'utf8').length > whole.length * 2);
});
