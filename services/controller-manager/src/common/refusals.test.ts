import assert from 'node:assert/strict';
import { test } from 'node:test';
import { conflict } from '@holdfast/machinery';
import { REFUSED_WRITE_RECHECK_MAX_MS, REFUSED_WRITE_RECHECK_MS } from '../limits.ts';
import { againAfterRefusal } from './refusals.ts';
import { unlessChanged } from './writes.ts';

const refusedWrite = () =>
  unlessChanged(() => Promise.reject(conflict({ group: '', resource: 'nodes', name: 'a' }, 'changed')));

test('a pass with a refused write is repeated soon, then ever later, until a pass is not refused', async () => {
  let isRefused = true;
  const reconcile = againAfterRefusal(async () => {
    await Promise.all([Promise.resolve(), isRefused ? refusedWrite() : undefined]);
    return { requeueAfterMs: 600_000 };
  });
  const waitOf = async (key: string): Promise<number | undefined> => (await reconcile(key)).requeueAfterMs;
  const first = [await waitOf('a'), await waitOf('a'), await waitOf('b')];
  assert.deepEqual(first, [REFUSED_WRITE_RECHECK_MS, 2 * REFUSED_WRITE_RECHECK_MS, REFUSED_WRITE_RECHECK_MS]);
  for (let more = 0; more < 10; more += 1) await waitOf('a');
  assert.equal(await waitOf('a'), REFUSED_WRITE_RECHECK_MAX_MS);
  isRefused = false;
  assert.equal(await waitOf('a'), 600_000);
  isRefused = true;
  assert.equal(await waitOf('a'), REFUSED_WRITE_RECHECK_MS);
});

test('passes at the same time do not take each other for refused', async () => {
  const gate = Promise.withResolvers<void>();
  const calm = againAfterRefusal(async () => {
    await gate.promise;
    return {};
  })('a');
  const refused = againAfterRefusal(async () => {
    await refusedWrite();
    gate.resolve();
    return {};
  })('b');
  assert.deepEqual([await calm, await refused], [{}, { requeueAfterMs: REFUSED_WRITE_RECHECK_MS }]);
});
