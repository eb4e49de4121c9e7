import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findResource } from '../registry.ts';

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
