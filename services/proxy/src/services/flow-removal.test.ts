import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nextTurn } from '@holdfast/platform';
import type { StaleFlows } from '../filter/port.ts';
import { FLOW_DELETIONS_BATCH, FLOW_DELETIONS_PENDING_MAX } from '../limits.ts';
import { FlowRemoval } from './flow-removal.ts';

const flow = (port: number): StaleFlows => ({ protocol: 'UDP', family: 'ip', port });

/** A table whose removals end when the test says so. */
function rig() {
  const removed: number[] = [];
  const gate = Promise.withResolvers<void>();
  const forget = async (flows: readonly StaleFlows[]): Promise<void> => {
    await gate.promise;
    removed.push(...flows.map(({ port }) => port));
  };
  return { removed, open: gate.resolve, removal: new FlowRemoval({ forget }) };
}

test('a bounded number of flows waits for removal, and equal ones are removed once', async (t) => {
  const { removed, open, removal } = rig();
  for (let port = 0; port < FLOW_DELETIONS_PENDING_MAX * 2; port++) removal.add([flow(port), flow(port)]);
  open();
  // The first flow is being removed while the others wait.
  while (removed.length <= FLOW_DELETIONS_PENDING_MAX && !t.signal.aborted) await nextTurn();
  for (let i = 0; i < 10; i++) await nextTurn();
  await removal.stop();
  assert.deepEqual([removed.length, new Set(removed).size], Array(2).fill(FLOW_DELETIONS_PENDING_MAX + 1));
});

test('a stop waits for one batch alone', async () => {
  const { removed, open, removal } = rig();
  removal.add(Array.from({ length: FLOW_DELETIONS_BATCH * 3 }, (_, port) => flow(port)));
  const stopped = removal.stop();
  open();
  await stopped;
  assert.equal(removed.length, FLOW_DELETIONS_BATCH);
});
