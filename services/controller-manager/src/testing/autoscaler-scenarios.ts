import assert from 'node:assert/strict';
import { DEPLOYMENTS, HORIZONTAL_POD_AUTOSCALERS, NODES, PODS } from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { nameOf } from '../common/meta.ts';
import { isActive } from '../common/pods.ts';
import type { MetricsSource } from '../controllers/horizontal-pod-autoscaler/metrics-source.ts';
import { autoscaler, deployment, node } from './builders.ts';
import type { Managers, Scenario } from './scenarios.ts';

/** Bytes that all pods of a namespace share: the more pods, the less each has. */
const SHARED_BYTES = 400;

/** A source that measures every running pod: as if the same work were spread over all of them. */
export const sharedLoad = (client: ApiClient): MetricsSource => ({
  podUsage: async (namespace) => {
    const { items } = await client.list(PODS, { namespace });
    const running = items.filter((pod) => isActive(pod) && pod.status.phase === 'Running');
    const memory = Math.floor((SHARED_BYTES * 1000) / Math.max(1, running.length));
    return running.map((pod) => ({
      pod: nameOf(pod),
      takenAtMs: 0,
      windowMs: 0,
      containers: [{ name: 'main', usage: { memory } }],
    }));
  },
});

async function followLoad(managers: Managers, live: Scenario): Promise<void> {
  const { api } = managers.world;
  const user = api.client('user');
  const target = { type: 'AverageValue', averageValue: '100' };
  api.put(NODES, node('node-a'));
  await user.create(DEPLOYMENTS, deployment({ replicas: 1 }));
  await user.create(
    HORIZONTAL_POD_AUTOSCALERS,
    autoscaler({ maxReplicas: 6, metrics: [{ type: 'Resource', resource: { name: 'memory', target } }] }),
  );
  await live(managers);
  const size = (): number => api.list(PODS).filter(isActive).length;
  assert.equal(size(), 4);
  const [stored] = api.list(HORIZONTAL_POD_AUTOSCALERS);
  assert.ok(stored);
  api.put(HORIZONTAL_POD_AUTOSCALERS, { ...stored, spec: { ...stored.spec, maxReplicas: 2 } });
  await live(managers);
  assert.equal(size(), 2);
}

/** `live` lets the managers and nodes work until a part of a scenario is over. */
export const autoscalerScenarios = (live: Scenario): Readonly<Record<string, Scenario>> => ({
  'an autoscaler follows its load, and its bounds': (managers) => followLoad(managers, live),
});
