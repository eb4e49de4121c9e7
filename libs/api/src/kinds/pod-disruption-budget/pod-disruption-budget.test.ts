import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fieldErrorMessage } from '@holdfast/machinery';
import type { PodDisruptionBudget, PodDisruptionBudgetSpec } from '../../generated/types.ts';
import { podDisruptionBudgetResource } from './index.ts';

function createErrors(spec: PodDisruptionBudgetSpec): readonly string[] {
  const budget = {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: 'b', namespace: 'n' },
    spec,
  } as PodDisruptionBudget;
  podDisruptionBudgetResource.setDefaults(budget);
  podDisruptionBudgetResource.strategy.prepareForCreate(budget, { now: 0 });
  return podDisruptionBudgetResource.strategy.validateCreate(budget, { now: 0 }).map(fieldErrorMessage);
}

test('[DISR-05] a budget has a number or a percentage, as minAvailable or as maxUnavailable', () => {
  for (const amount of [0, 2, '0%', '100%']) {
    assert.deepEqual(createErrors({ minAvailable: amount }), []);
    assert.deepEqual(createErrors({ maxUnavailable: amount }), []);
  }
  assert.match(
    createErrors({ minAvailable: 1, maxUnavailable: 1 }).join(),
    /minAvailable and maxUnavailable cannot be both set/,
  );
  for (const amount of [-1, '101%', 'half']) {
    assert.equal(createErrors({ minAvailable: amount }).length, 1, `minAvailable ${amount}`);
    assert.equal(createErrors({ maxUnavailable: amount }).length, 1, `maxUnavailable ${amount}`);
  }
});

test('[DISR-15] unhealthy pods wait for a healthy budget or are always evictable; other policies are refused', () => {
  for (const unhealthyPodEvictionPolicy of ['IfHealthyBudget', 'AlwaysAllow']) {
    assert.deepEqual(createErrors({ minAvailable: 1, unhealthyPodEvictionPolicy }), []);
  }
  assert.deepEqual(createErrors({ minAvailable: 1, unhealthyPodEvictionPolicy: 'Never' }), [
    'spec.unhealthyPodEvictionPolicy: Unsupported value: "Never": supported values: "AlwaysAllow", "IfHealthyBudget"',
  ]);
});
