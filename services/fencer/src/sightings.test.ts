import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node } from '@holdfast/api';
import { createVirtualClock } from '@holdfast/platform/testing';
import { Sightings } from './sightings.ts';
import { node } from './testing/builders.ts';

function nodeSince(lastTransitionTime: string, uid = 'u-1'): Node {
  const plain = node();
  return {
    ...plain,
    metadata: { ...plain.metadata, name: 'a', uid },
    status: { ...plain.status, conditions: [{ type: 'Ready', status: 'Unknown', lastTransitionTime }] },
  };
}

test('a partition counts from its first observation by this process, and not after it ended', async () => {
  const clock = createVirtualClock();
  const sightings = new Sightings(clock);
  const cut = nodeSince('2026-01-01T00:00:00Z');
  const first = sightings.partition(cut, true);
  await clock.advance(10_000);
  assert.equal(sightings.partition(cut, true), first, 'it goes on');
  assert.equal(sightings.partition(cut, false), undefined, 'the node is well');
  assert.equal(sightings.partitioned(), 0);
  await clock.advance(10_000);
  assert.equal(sightings.partition(cut, true), (first ?? 0) + 20_000, 'the next one starts anew');
});

test('a partition that ended and began again between two passes restarts, and so does that of another node with the name', async () => {
  const clock = createVirtualClock();
  const sightings = new Sightings(clock);
  const first = sightings.partition(nodeSince('2026-01-01T00:00:00Z'), true) ?? 0;
  await clock.advance(60_000);
  assert.equal(sightings.partition(nodeSince('2026-01-01T00:00:50Z'), true), first + 60_000);
  await clock.advance(60_000);
  assert.equal(sightings.partition(nodeSince('2026-01-01T00:00:50Z', 'u-2'), true), first + 120_000);
  sightings.forget('a');
  await clock.advance(1_000);
  assert.equal(sightings.partition(nodeSince('2026-01-01T00:00:50Z', 'u-2'), true), first + 121_000);
});
