import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { digestLine } from './digest.ts';
import { GRPC_INTERFACES } from './interfaces.ts';

for (const { proto, files } of GRPC_INTERFACES) {
  test(`the generated messages match ${path.basename(proto)} (else: node tools/gen-cri/main.ts)`, () => {
    const expected = digestLine(proto, readFileSync(proto));
    for (const file of files) {
      const [first] = readFileSync(file, 'utf8').split('\n', 1);
      assert.equal(first, expected, file);
    }
  });
}
