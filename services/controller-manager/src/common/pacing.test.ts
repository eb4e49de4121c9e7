import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ReplicaSet } from '@holdfast/api';
import { createVirtualClock } from '@holdfast/platform/testing';
import { replicaSet } from '../testing/builders.ts';
import { Pacing } from './pacing.ts';

const set = (generation: number): ReplicaSet => replicaSet({}, { generation });

test('an owner of many pods is reconciled once a second, one of few at every change', () => {
  const clock = createVirtualClock();
  const pacing = new Pacing(clock);
  pacing.passed('default/few', 10);
  assert.equal(pacing.waitMs('default/few'), undefined);
  pacing.passed('default/web', 10_000);
  assert.equal(pacing.waitMs('default/web'), 1_000);
  clock.skip(1_000);
  assert.equal(pacing.waitMs('default/web'), undefined);
});

test('a spec change of the owner does not wait, its own status change does', () => {
  const pacing = new Pacing(createVirtualClock());
  pacing.passed('default/web', 5_000);
  pacing.ownerChanged({ key: 'default/web', object: set(1), old: set(1) });
  assert.equal(pacing.waitMs('default/web'), 500);
  pacing.ownerChanged({ key: 'default/web', object: set(2), old: set(1) });
  assert.equal(pacing.waitMs('default/web'), undefined);
});

test('a slow pass is followed by a longer pause', () => {
  const pacing = new Pacing(createVirtualClock());
  pacing.passed('default/web', 1_000, 30);
  assert.equal(pacing.waitMs('default/web'), 600);
  pacing.passed('default/web', 1_000, 1);
  assert.equal(pacing.waitMs('default/web'), 100);
});
