import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { WriteResult } from '@holdfast/store';
import { noteFate } from './sent-write.ts';

const COMMITTED = { outcome: 'committed', firstRevision: 1, lastRevision: 1 } as const;
const LOST = { outcome: 'conflict', index: 0, currentRevision: 2 } as const;

for (const [result, mayBeApplied] of [
  [COMMITTED, true],
  [LOST, false],
] as const) {
  test(`a write may be applied from its beginning on; after "${result.outcome}": ${mayBeApplied}`, async () => {
    const sent = { mayBeApplied: false };
    const write = async (): Promise<WriteResult> => {
      assert.equal(sent.mayBeApplied, true);
      return result;
    };
    assert.equal(await noteFate(sent, write), result);
    assert.equal(sent.mayBeApplied, mayBeApplied);
  });
}

test('a write that fails may be applied', async () => {
  const sent = { mayBeApplied: false };
  await assert.rejects(noteFate(sent, () => Promise.reject(new Error('no answer'))));
  assert.equal(sent.mayBeApplied, true);
});
