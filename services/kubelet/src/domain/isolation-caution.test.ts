import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isolationCaution } from './isolation-caution.ts';

test('a warning in one sentence names the isolation between pods that a node lacks', () => {
  const confined = { mounts: true, user: 'any', confines: true } as const;
  assert.equal(isolationCaution(confined), undefined);
  assert.equal(isolationCaution({ mounts: true, user: 'any', isolation: true }), undefined);
  assert.match(isolationCaution({ ...confined, mounts: false }) ?? '', /^pods see the files of this machine/);
  assert.match(isolationCaution({ mounts: true, user: 'any' }) ?? '', /setpriv \(util-linux\) is missing/);
  const asUser = { mounts: true, user: { uid: 1000, gid: 1000 } };
  assert.match(isolationCaution(asUser) ?? '', /^pods are not isolated: they run as the user who started this node/);
});
