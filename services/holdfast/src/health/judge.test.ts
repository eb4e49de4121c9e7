import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isFreshLease, isReadyNode } from './judge.ts';

const nodeWith = (status: string): unknown => ({ status: { conditions: [{ type: 'Ready', status }] } });
/** 2026-11-20T12:00:00Z. */
const NOW = 1_795_176_000_000;
const leaseAt = (renewTime: unknown): unknown => ({ spec: { renewTime } });

test('a node is healthy when the API says Ready', () => {
  assert.equal(isReadyNode(nodeWith('True')), true);
  for (const other of [nodeWith('False'), nodeWith('Unknown'), {}, { status: {} }, 'ok', null]) {
    assert.equal(isReadyNode(other), false);
  }
});

test('a lease is healthy while it is renewed', () => {
  assert.equal(isFreshLease(leaseAt('2026-11-20T11:59:50.123456Z'), NOW), true);
  assert.equal(isFreshLease(leaseAt('2026-11-20T11:59:00.000000Z'), NOW), false);
  for (const other of [leaseAt(undefined), leaseAt('soon'), {}, null]) assert.equal(isFreshLease(other, NOW), false);
});
