import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MetricRegistry } from '@holdfast/platform';
import type { CachedObject } from '../cache/cached-object.ts';
import { ApiServices } from './api-services.ts';
import { addAvailabilityMetrics } from './availability-metrics.ts';

const registration = (
  name: string,
  service?: object,
  available?: readonly [status: string, reason: string],
): CachedObject =>
  ({
    name,
    object: {
      metadata: { name },
      spec: { group: name, version: 'v1', groupPriorityMinimum: 1, versionPriority: 1, service },
      status: {
        conditions: available === undefined ? [] : [{ type: 'Available', status: available[0], reason: available[1] }],
      },
    },
  }) as unknown as CachedObject;

test('an API that does not answer is a gauge, and each loss is counted by its reason until the API is removed', () => {
  const registry = new MetricRegistry();
  const apis = new ApiServices({ onChange: () => {}, onAvailability: () => {} });
  addAvailabilityMetrics(registry, apis);
  const samples = (): readonly string[] =>
    registry
      .render()
      .split('\n')
      .filter((line) => !/^(?:#|$)/.test(line));
  const put = (...[status, reason]: readonly [string, string]): void =>
    apis.put(registration('far', { name: 'a', namespace: 'b' }, [status, reason]));
  apis.put(registration('near'));
  apis.put(registration('far', { name: 'a', namespace: 'b' }));
  const unavailable = [
    'aggregator_unavailable_apiservice{name="near"} 0',
    'aggregator_unavailable_apiservice{name="far"} 1',
  ];
  assert.deepEqual(samples(), unavailable, 'not checked yet, so nothing was lost');
  put('False', 'ServiceNotFound');
  put('False', 'ServiceNotFound');
  const counted = 'aggregator_unavailable_apiservice_total{name="far",reason="ServiceNotFound"}';
  assert.deepEqual(samples(), [...unavailable, `${counted} 1`]);
  put('True', 'Passed');
  put('False', 'ServiceNotFound');
  assert.ok(samples().includes(`${counted} 2`));
  for (let i = 0; i < 20; i += 1) put('False', `reason-${i}`);
  assert.equal(samples().filter((line) => line.includes('_total{')).length, 8);
  apis.remove(registration('far'));
  assert.deepEqual(samples(), ['aggregator_unavailable_apiservice{name="near"} 0']);
});
