import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readStartConfig } from './config.ts';

for (const { argv, expected } of [
  { argv: [], expected: true },
  { argv: ['--nodes', '0'], expected: false },
  { argv: ['--nodes', '0', '--hollow-nodes', '2'], expected: false },
  { argv: ['--nodes', '0', '--default-storage-class', 'standard'], expected: true },
  { argv: ['--default-storage-class', 'none'], expected: false },
]) {
  test(`a cluster of [${argv.join(' ')}] ${expected ? 'gets' : 'does not get'} the default storage class`, () => {
    assert.equal(readStartConfig({ argv, env: {} }).defaultStorageClass, expected);
  });
}
