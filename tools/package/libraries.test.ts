import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { copyLibraries } from './libraries.ts';
import { roomsOf } from './workspace.ts';

test('a library whose program has a folder with the name of documentation is copied whole', (t) => {
  const target = mkdtempSync(path.join(tmpdir(), 'holdfast-libraries-'));
  t.after(() => rmSync(target, { recursive: true, force: true }));
  const copied = copyLibraries(roomsOf('@holdfast/client'), target);
  assert.ok(copied.has('yaml'));
  const { parse } = createRequire(path.join(target, 'index.js'))('yaml');
  assert.deepEqual(parse('a: [1]'), { a: [1] });
});
