import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PersistentVolume } from '@holdfast/api';
import { breakingPatch, riskOfBreaking } from './detachment.ts';

const volume = (attachment?: PersistentVolume['status']['attachment']): PersistentVolume => ({
  apiVersion: 'v1',
  kind: 'PersistentVolume',
  metadata: { name: 'disk', resourceVersion: '7' },
  spec: {},
  status: attachment === undefined ? {} : { attachment },
});

test('[UI-05] breaking an attachment warns of corruption and names the node and the pods that may write', () => {
  const pods = [{ namespace: 'default', name: 'db-0', uid: 'u' }];
  assert.match(
    riskOfBreaking(volume({ nodeName: 'a', nodeUID: 'n', pods })) ?? '',
    /volume "disk" to node a \(used by default\/db-0\).*still writes, data corruption is possible/,
  );
  assert.match(riskOfBreaking(volume({ nodeName: 'a', nodeUID: 'n' })) ?? '', /no pod is known.*corruption/);
  assert.equal(riskOfBreaking(volume()), undefined);
});

test('[RWO-22] an attachment is broken at the revision that was looked at', () => {
  assert.deepEqual(breakingPatch(volume()), { metadata: { resourceVersion: '7' }, status: { attachment: null } });
});
