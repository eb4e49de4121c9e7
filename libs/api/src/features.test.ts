import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEFAULT_FEATURES, readFeatures } from './features.ts';

test('[PRIO-14] [USERNS-01] priorities are on and user namespaces off, unless a gate says otherwise', () => {
  assert.deepEqual(DEFAULT_FEATURES, { userNamespacesSupport: false, podPriority: true });
  assert.deepEqual(readFeatures(''), DEFAULT_FEATURES);
  assert.deepEqual(readFeatures('PodPriority=false'), { userNamespacesSupport: false, podPriority: false });
  assert.deepEqual(readFeatures('UserNamespacesSupport=true'), { userNamespacesSupport: true, podPriority: true });
});
