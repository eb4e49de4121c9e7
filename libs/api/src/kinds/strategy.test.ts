import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '@holdfast/machinery';
import { allResources } from '../registry.ts';
import type { KubeObject } from '../resource.ts';
import { statusReplaced } from './testing.ts';

test('an update needs no resourceVersion, except for a few kinds', () => {
  const strict = allResources()
    .filter(({ verbs, strategy }) => verbs.includes('update') && strategy.allowUnconditionalUpdate !== true)
    .map(({ kind }) => kind);
  assert.deepEqual(strict.sort(), [
    'APIService',
    'CSIDriver',
    'CSINode',
    'CSIStorageCapacity',
    'CustomResourceDefinition',
    'Lease',
    'MutatingWebhookConfiguration',
    'PodDisruptionBudget',
    'RuntimeClass',
    'ValidatingAdmissionPolicy',
    'ValidatingAdmissionPolicyBinding',
    'ValidatingWebhookConfiguration',
    'VolumeAttachment',
  ]);
});

test('the status of an API service is updated without its metadata', () => {
  const labelled = (value: string): JsonObject => ({
    apiVersion: 'apiregistration.k8s.io/v1',
    kind: 'APIService',
    metadata: { name: 'x', labels: { a: value }, annotations: { b: value } },
    status: { conditions: [{ type: value, status: 'True' }] },
  });
  const after = statusReplaced(labelled('old'), labelled('new')) as KubeObject & { status?: unknown };
  assert.deepEqual([after.metadata.labels, after.metadata.annotations], [{ a: 'old' }, { b: 'old' }]);
  assert.match(JSON.stringify(after.status), /"type":"new"/);
});
