import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Namespace } from '../../generated/types.ts';
import { SELF_FENCING } from '../../semantics/exclusive.ts';
import {
  validateNamespaceCreate,
  validateNamespaceFinalize,
  validateNamespaceStatusUpdate,
  validateNamespaceUpdate,
} from './validation.ts';

const namespace = (policy?: string): Namespace => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: {
    name: 'n',
    uid: 'u',
    resourceVersion: '1',
    ...(policy === undefined ? {} : { annotations: { [SELF_FENCING]: policy } }),
  },
  spec: { finalizers: [] },
  status: { phase: 'Active' },
});

const UPDATES = {
  update: validateNamespaceUpdate,
  status: validateNamespaceStatusUpdate,
  finalize: validateNamespaceFinalize,
} as const;

test('[SAFE-22] a namespace is created with a known policy only', () => {
  for (const policy of [undefined, 'exclusive', 'all', 'off'])
    assert.deepEqual(validateNamespaceCreate(namespace(policy)), []);
  const [error, ...others] = validateNamespaceCreate(namespace('none'));
  assert.deepEqual([error?.field, others.length], [`metadata.annotations[${SELF_FENCING}]`, 0]);
});

for (const [name, validate] of Object.entries(UPDATES)) {
  test(`[SAFE-22] ${name}: an unknown policy is refused, and one that is stored already is not`, () => {
    assert.deepEqual(validate(namespace('off'), namespace('all')), []);
    assert.equal(validate(namespace('none'), namespace('all')).length, 1);
    assert.deepEqual(validate(namespace('none'), namespace('none')), []);
  });
}
