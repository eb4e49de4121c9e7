import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { supportMatrix } from '../docs/support-matrix.ts';

test('the support matrix lists the resources that the API server serves', async () => {
  const written = readFileSync(path.resolve(import.meta.dirname, '../../docs/support-matrix.md'), 'utf8');
  assert.equal(written, await supportMatrix(), 'run `node test/docs/write-support-matrix.ts`');
});
