import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { StoreUnavailable } from '../port.ts';
import { assertNotOlder, WentBack } from './went-back.ts';

const seen = { position: 10, revision: 7, digest: 'a' };

test('I1: an outdated snapshot is not taken; the next server is asked', () => {
  assert.throws(() => assertNotOlder(seen, { position: 9, revision: 7, digest: 'b' }), StoreUnavailable);
});

test('I1: a snapshot of another history is no snapshot of this one', () => {
  assert.throws(() => assertNotOlder(seen, { position: 12, revision: 6, digest: 'b' }), WentBack);
  assert.throws(() => assertNotOlder(seen, { ...seen, digest: 'b' }), WentBack);
});

test('I1: what is newer, or the same, is taken', () => {
  assertNotOlder(seen, seen);
  assertNotOlder(seen, { position: 11, revision: 7, digest: 'b' });
});
