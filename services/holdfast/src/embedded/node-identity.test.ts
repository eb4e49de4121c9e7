import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { createIds, createSeededRandom } from '@holdfast/platform';
import { nodeIdentity } from './node-identity.ts';
import { ownNodes } from './own-nodes.ts';

test('an embedded node is bound to its machine only when the store is shared with other processes', (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-identity-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const ids = createIds(createSeededRandom(1, 'identity'));
  for (const store of ['memory', 'sqlite'] as const) {
    assert.deepEqual(nodeIdentity(store, folder, ids), {});
    assert.deepEqual([...ownNodes(store, ['node-1'])], ['node-1']);
  }
  const { incarnation, bound } = nodeIdentity('redis', folder, ids);
  assert.ok(incarnation !== undefined && bound !== undefined);
  assert.equal(ownNodes('redis', ['node-1']).size, 0);
});
