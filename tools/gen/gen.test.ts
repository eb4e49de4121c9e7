import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { generate } from './generate.ts';

const ROOT = join(import.meta.dirname, '../..');
const GENERATED = join(ROOT, 'libs/api/src/generated');
const REFERENCE = join(ROOT, '../shared/reference/openapi-v1.32');

/** Without the OpenAPI documents at hand, the checksums recorded with the files stand in for them. */
function expectedFiles(): ReadonlyMap<string, string> {
  if (existsSync(join(REFERENCE, 'swagger.json'))) {
    return new Map([...generate(REFERENCE)].map(([name, text]) => [name, sha256(text)]));
  }
  const recorded: Record<string, string> = JSON.parse(readFileSync(join(GENERATED, 'checksums.json'), 'utf8'));
  return new Map(Object.entries(recorded));
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

test('the generated files are up to date', () => {
  const expected = expectedFiles();
  assert.ok(expected.size > 20);
  for (const [name, sum] of expected) {
    assert.equal(sha256(readFileSync(join(GENERATED, name), 'utf8')), sum, `${name}: run node tools/gen/main.ts`);
  }
});
