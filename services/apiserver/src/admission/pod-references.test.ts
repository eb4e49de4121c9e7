import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '@holdfast/api';
import { referenceOf } from './pod-references.ts';

const podWith = (spec: object): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p' },
  spec: { containers: [], ...spec },
  status: {},
});

test('[CVE-2025-4563] a static pod cannot refer to a resource claim either', () => {
  assert.equal(referenceOf(podWith({ resourceClaims: [{ name: 'gpu', resourceClaimName: 'gpu' }] })), 'resourceclaims');
  assert.equal(referenceOf(podWith({})), undefined);
});
