import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MetricSpec, AutoscalingV1HorizontalPodAutoscaler as V1 } from '../../generated/types.ts';
import { stored } from '../testing.ts';
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
  // Puts the metric that v1 has a field for last.
  v2.spec.metrics?.unshift({
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

const selector = { matchLabels: { a: 'b' } };
const measured = { name: 'packets', selector };
const describedObject = { kind: 'Service', name: 's', apiVersion: 'v1' };

const WANTED: readonly (readonly [MetricSpec, string])[] = [
  [
    {
      type: 'Object',
      object: { describedObject, metric: measured, target: { type: 'AverageValue', averageValue: '2' } },
    },
    '{"type":"Object","object":{"target":{"kind":"Service","name":"s","apiVersion":"v1"},"metricName":"packets","targetValue":"0","selector":{"matchLabels":{"a":"b"}},"averageValue":"2"}}',
  ],
  [
    { type: 'Pods', pods: { metric: measured, target: { type: 'AverageValue', averageValue: '1k' } } },
    '{"type":"Pods","pods":{"metricName":"packets","targetAverageValue":"1k","selector":{"matchLabels":{"a":"b"}}}}',
  ],
  [
    { type: 'Resource', resource: { name: 'memory', target: { type: 'Utilization', averageUtilization: 7 } } },
    '{"type":"Resource","resource":{"name":"memory","targetAverageUtilization":7}}',
  ],
  [
    {
      type: 'ContainerResource',
      containerResource: { name: 'cpu', container: 'c', target: { type: 'AverageValue', averageValue: '100m' } },
    },
    '{"type":"ContainerResource","containerResource":{"name":"cpu","targetAverageValue":"100m","container":"c"}}',
  ],
  [
    { type: 'External', external: { metric: measured, target: { type: 'Value', value: '3' } } },
    '{"type":"External","external":{"metricName":"packets","metricSelector":{"matchLabels":{"a":"b"}},"targetValue":"3"}}',
  ],
];

test('metrics are written as v1 has them, and read so', () => {
  for (const [metric, text] of WANTED) {
    const v2 = toV2(scaler());
    v2.spec.metrics = [metric];
    const v1 = fromV2(v2);
    assert.equal(v1.metadata.annotations?.['autoscaling.alpha.kubernetes.io/metrics'], `[${text}]`);
    assert.deepEqual(toV2(v1).spec.metrics, [metric]);
  }
});

test('metric statuses are written and read in the form of v1', () => {
  const v2 = toV2(scaler());
  v2.status.currentMetrics = [
    { type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: 9, averageValue: '10m' } } },
    { type: 'Pods', pods: { metric: measured, current: { averageValue: '0' } } },
    { type: 'External', external: { metric: measured, current: { value: '4', averageValue: '2' } } },
    { type: 'Object', object: { describedObject, metric: measured, current: { value: '5' } } },
  ];
  const v1 = fromV2(v2);
  assert.equal(v1.status.currentCPUUtilizationPercentage, 9);
  assert.equal(
    v1.metadata.annotations?.['autoscaling.alpha.kubernetes.io/current-metrics'],
    '[{"type":"Resource","resource":{"name":"cpu","currentAverageUtilization":9,"currentAverageValue":"10m"}},' +
      '{"type":"Pods","pods":{"metricName":"packets","currentAverageValue":"0","selector":{"matchLabels":{"a":"b"}}}},' +
      '{"type":"External","external":{"metricName":"packets","metricSelector":{"matchLabels":{"a":"b"}},"currentValue":"4","currentAverageValue":"2"}},' +
      '{"type":"Object","object":{"target":{"kind":"Service","name":"s","apiVersion":"v1"},"metricName":"packets","currentValue":"5","selector":{"matchLabels":{"a":"b"}}}}]',
  );
  assert.deepEqual(toV2(v1).status.currentMetrics, v2.status.currentMetrics);
});

test('behavior is written with the field names of Go, and both spellings are read', () => {
  const v2 = toV2(scaler());
  const policies = [{ type: 'Pods', value: 4, periodSeconds: 15 }];
  v2.spec.behavior = {
    scaleUp: { stabilizationWindowSeconds: 0, selectPolicy: 'Min', policies },
    scaleDown: { selectPolicy: 'Max', policies },
  };
  const key = 'autoscaling.alpha.kubernetes.io/behavior';
  const v1 = fromV2(v2);
  const rules = '"Policies":[{"Type":"Pods","Value":4,"PeriodSeconds":15}]';
  assert.equal(
    v1.metadata.annotations?.[key],
    `{"ScaleUp":{"StabilizationWindowSeconds":0,"SelectPolicy":"Min",${rules}},"ScaleDown":{"StabilizationWindowSeconds":null,"SelectPolicy":"Max",${rules}}}`,
  );
  assert.deepEqual(toV2(v1).spec.behavior, v2.spec.behavior);
  assert.deepEqual(toV2(scaler({}, { [key]: JSON.stringify(v2.spec.behavior) })).spec.behavior, v2.spec.behavior);
});

test('conditions are written in the order of Go', () => {
  const v2 = toV2(scaler());
  const lastTransitionTime = '2023-01-01T00:00:00Z';
  v2.status.conditions = [{ message: 'b', reason: 'a', lastTransitionTime, status: 'True', type: 'AbleToScale' }];
  assert.equal(
    fromV2(v2).metadata.annotations?.['autoscaling.alpha.kubernetes.io/conditions'],
    `[{"type":"AbleToScale","status":"True","lastTransitionTime":"${lastTransitionTime}","reason":"a","message":"b"}]`,
  );
});

test('a v2 scaler keeps no annotations that stand for its fields', () => {
  const annotations = { 'autoscaling.alpha.kubernetes.io/metrics': '[]', k: 'v' };
  const { metadata } = stored({
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    metadata: { name: 'h', namespace: 'n', annotations },
    spec: { maxReplicas: 1, scaleTargetRef: { kind: 'Deployment', name: 'd' } },
  });
  assert.deepEqual(metadata.annotations, { k: 'v' });
});

test('annotations of a scaler that cannot be parsed are ignored', () => {
  for (const text of ['{', '"x"', '[1]', '[{"resource":7}]', '{"a":1}']) {
    const { spec } = toV2(
      scaler({ targetCPUUtilizationPercentage: 60 }, { 'autoscaling.alpha.kubernetes.io/metrics': text }),
    );
    assert.equal(spec.metrics?.length, 1, text);
  }
});
