import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allResources, findResource } from '../registry.ts';

test('who creates what is kept and has no effect yet is told so, once', () => {
  for (const [group, plural] of [
    ['admissionregistration.k8s.io', 'validatingwebhookconfigurations'],
    ['admissionregistration.k8s.io', 'mutatingwebhookconfigurations'],
    ['admissionregistration.k8s.io', 'validatingadmissionpolicies'],
    ['admissionregistration.k8s.io', 'validatingadmissionpolicybindings'],
    ['apiextensions.k8s.io', 'customresourcedefinitions'],
  ] as const) {
    const strategy = findResource(group, 'v1', plural)?.strategy;
    const object = { apiVersion: `${group}/v1`, kind: '', metadata: { name: 'x' } };
    const texts = strategy?.warnings?.(object, undefined) ?? [];
    assert.match(texts.join(), /kept and has no effect$/, plural);
    assert.deepEqual(strategy?.warnings?.(object, object), [], plural);
  }
});

test('who replaces an object need not name the version that was read, but for a few kinds', () => {
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
