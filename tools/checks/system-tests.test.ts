import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { readRequirements } from '../mutation/breaks.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');

/** Requirements of which a broken promise costs data: a test of the parts is not enough. */
const OF_SAFETY = /^(SAFE|FENCE|RWO)-\d+$/;

test('each requirement of safety is named by a test of whole clusters, simulated or real', () => {
  const files = globSync('test/{sim,integration,e2e,chaos}/**/*.test.ts', { cwd: ROOT });
  const named = new Set(
    files.flatMap((file) =>
      [...readFileSync(path.join(ROOT, file), 'utf8').matchAll(/\[([A-Z]+-\d+)\]/g)].map(([, id]) => id),
    ),
  );
  const wanted = readRequirements(ROOT).filter((id) => OF_SAFETY.test(id));
  assert.ok(wanted.length >= 73, `${wanted.length} requirements`);
  assert.deepEqual(
    wanted.filter((id) => !named.has(id)),
    [],
  );
});
