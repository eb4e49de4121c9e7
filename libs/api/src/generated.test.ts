import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const GENERATED = join(import.meta.dirname, 'generated');

test('the generated files are exactly what the generator wrote', () => {
  const recorded: Record<string, string> = JSON.parse(readFileSync(join(GENERATED, 'checksums.json'), 'utf8'));
  assert.ok(Object.keys(recorded).length > 20);
  for (const [name, sum] of Object.entries(recorded)) {
    const actual = createHash('sha256')
      .update(readFileSync(join(GENERATED, name)))
      .digest('hex');
    assert.equal(actual, sum, `${name}: edit tools/gen and run: node tools/gen/main.ts`);
  }
});
