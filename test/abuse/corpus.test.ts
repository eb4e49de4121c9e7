import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CORPUS } from './corpus.ts';

const HEADER_BYTES_MAX = 64 * 1024;

/** Bodies are not made here, which takes a minute: the server refuses one that is too large, and the abuse suite fails on that. */
test('every hostile request has a unique name and fits into the header limits of the server', () => {
  assert.equal(new Set(CORPUS.map(({ name }) => name)).size, CORPUS.length);
  for (const { name, path, headers = {} } of CORPUS) {
    const head = Object.entries(headers).reduce((sum, [key, value]) => sum + key.length + value.length, path.length);
    assert.ok(head < HEADER_BYTES_MAX, `${name}: ${head} bytes of headers`);
  }
});
