import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AutoscalingV1HorizontalPodAutoscaler as V1 } from '../../generated/types.ts';
import { fromV2, toV2 } from './convert.ts';

const scaler = (changes: Partial<V1['spec']> = {}, annotations?: Record<string, string>): V1 => ({
  apiVersion: 'autoscaling/v1',
  kind: 'HorizontalPodAutoscaler',
  metadata: { name: 'h', namespace: 'n', ...(annotations === undefined ? {} : { annotations }) },
  spec: { maxReplicas: 3, minReplicas: 1, scaleTargetRef: { kind: 'Deployment', name: 'd' }, ...changes },
  status: { currentReplicas: 1, desiredReplicas: 2 },
});

test('the target of a v1 scaler is a metric of the processor in v2', () => {
  const { spec } = toV2(scaler({ targetCPUUtilizationPercentage: 60 }));
  assert.deepEqual(spec.metrics, [
    { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 60 } } },
  ]);
});

test('a v1 scaler comes back from v2 as it was', () => {
  const v1 = scaler({ targetCPUUtilizationPercentage: 60 });
  assert.deepEqual(fromV2(toV2(v1)), v1);
});

test('metrics that v1 has no field for survive the way through v1', () => {
  const v2 = toV2(scaler({ targetCPUUtilizationPercentage: 60 }));
  v2.spec.metrics?.push({
    type: 'Resource',
    resource: { name: 'memory', target: { type: 'AverageValue', averageValue: '1Gi' } },
  });
  v2.status.conditions = [
    { type: 'AbleToScale', status: 'True', lastTransitionTime: '2023-01-01T00:00:00Z', reason: 'a', message: 'b' },
  ];
  const v1 = fromV2(v2);
  assert.equal(v1.spec.targetCPUUtilizationPercentage, 60);
  assert.deepEqual(Object.keys(v1.metadata.annotations ?? {}).sort(), [
    'autoscaling.alpha.kubernetes.io/conditions',
    'autoscaling.alpha.kubernetes.io/metrics',
  ]);
  assert.deepEqual(toV2(v1), v2);
});

test('annotations of a scaler that nobody can read are ignored', () => {
  for (const text of ['{', '"x"', '[1]', '[{"resource":7}]', '{"a":1}']) {
    const { spec } = toV2(
      scaler({ targetCPUUtilizationPercentage: 60 }, { 'autoscaling.alpha.kubernetes.io/metrics': text }),
    );
    assert.equal(spec.metrics?.length, 1, text);
  }
});
