import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { generate } from './generate.ts';

const ROOT = join(import.meta.dirname, '../..');
const GENERATED = join(ROOT, 'libs/api/src/generated');
const REFERENCE = join(ROOT, '../shared/reference/openapi-v1.32');

const skip = existsSync(join(REFERENCE, 'swagger.json'))
  ? false
  : 'the OpenAPI documents of Kubernetes 1.32 are not at hand';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

function compareSums(expected: Iterable<readonly [string, string]>): void {
  const sums = [...expected];
  assert.ok(sums.length > 20);
  for (const [name, sum] of sums) {
    assert.equal(sha256(readFileSync(join(GENERATED, name), 'utf8')), sum, `${name}: run node tools/gen/main.ts`);
  }
}

test('the generated files have their recorded checksums', () => {
  const recorded: Record<string, string> = JSON.parse(readFileSync(join(GENERATED, 'checksums.json'), 'utf8'));
  compareSums(Object.entries(recorded));
});

test('the generated files match the output of the generator for the OpenAPI documents', { skip }, () => {
  compareSums([...generate(REFERENCE)].map(([name, text]) => [name, sha256(text)] as const));
});
