import assert from 'node:assert/strict';
import {
  DEPLOYMENTS,
  ENDPOINT_SLICES,
  ENDPOINTS,
  type Endpoints,
  type KubeObject,
  NODES,
  POD_DISRUPTION_BUDGETS,
  PODS,
  type Pod,
  type PodDisruptionBudget,
  SERVICES,
  type Service,
} from '@holdfast/api';
import { formatTime } from '@holdfast/platform';
import { nameOf, targetOf } from '../common/meta.ts';
import { deployment, node, pod, readyStatus } from './builders.ts';
import type { Managers, Scenario } from './scenarios.ts';

const backend = (name: string): Pod => {
  const podIP = `10.0.0.${name.charCodeAt(0)}`;
  const status = { ...readyStatus('2026-01-01T00:00:00Z'), podIP, podIPs: [{ ip: podIP }] };
  return pod({ name, uid: name, labels: { app: 'web' } }, status, { nodeName: 'node-a' });
};

const service = (name: string, spec: Partial<NonNullable<Service['spec']>>): Service => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { namespace: 'default', name },
  spec: { clusterIP: '10.9.0.1', ipFamilies: ['IPv4'], ports: [{ port: 80, protocol: 'TCP' }], ...spec },
  status: { loadBalancer: {} },
});

const writtenDown = (ip: string): Endpoints => ({
  apiVersion: 'v1',
  kind: 'Endpoints',
  metadata: { namespace: 'default', name: 'db' },
  subsets: [{ addresses: [{ ip }], ports: [{ port: 80, protocol: 'TCP' }] }],
});

const budget = (): PodDisruptionBudget => ({
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: { namespace: 'default', name: 'web' },
  spec: { maxUnavailable: 1, selector: { matchLabels: { app: 'web' } } },
  status: { currentHealthy: 0, desiredHealthy: 0, disruptionsAllowed: 0, expectedPods: 0 },
});

async function followServices(managers: Managers, live: Scenario): Promise<void> {
  const { api } = managers.world;
  const user = api.client('user');
  api.put(NODES, node('node-a'));
  for (const name of ['a', 'b', 'c']) api.put(PODS, backend(name));
  await user.create(SERVICES, service('web', { selector: { app: 'web' } }));
  await user.create(SERVICES, service('db', {}));
  await user.create(ENDPOINTS, writtenDown('192.0.2.1'));
  await live(managers);
  api.drop(PODS, { namespace: 'default', name: 'b' });
  api.put(PODS, { ...backend('c'), status: { ...backend('c').status, conditions: [] } });
  api.put(ENDPOINTS, writtenDown('192.0.2.2'));
  await live(managers);
  const said = api.list(ENDPOINT_SLICES).flatMap(({ endpoints }) => endpoints.flatMap(({ addresses }) => addresses));
  assert.deepEqual(new Set(said), new Set(['10.0.0.97', '10.0.0.99', '192.0.2.2']));
  for (const each of api.list(SERVICES)) await user.delete(SERVICES, targetOf(each));
  await live(managers);
  assert.deepEqual([api.list(ENDPOINTS), api.list(ENDPOINT_SLICES)], [[], []]);
}

async function spendBudget(managers: Managers, live: Scenario): Promise<void> {
  const { api, clock } = managers.world;
  const user = api.client('user');
  const allowed = (): number | undefined => api.list(POD_DISRUPTION_BUDGETS)[0]?.status.disruptionsAllowed;
  api.put(NODES, node('node-a'));
  await user.create(POD_DISRUPTION_BUDGETS, budget());
  await user.create(DEPLOYMENTS, deployment({ replicas: 2 }));
  await live(managers);
  assert.equal(allowed(), 1);
  const [counted] = api.list(POD_DISRUPTION_BUDGETS);
  const [victim] = api.list(PODS);
  assert.ok(counted !== undefined && victim !== undefined);
  const disruptedPods = { [nameOf(victim)]: formatTime(clock.now()) };
  api.put(POD_DISRUPTION_BUDGETS, { ...counted, status: { ...counted.status, disruptionsAllowed: 0, disruptedPods } });
  await user.delete(PODS, targetOf(victim));
  await managers.turn();
  assert.equal(allowed(), 0);
  await live(managers);
  assert.equal(allowed(), 1);
}

/** `live` lets the managers and nodes work until a part of a scenario is over. */
export const serviceScenarios = (live: Scenario): Readonly<Record<string, Scenario>> => ({
  'a service follows its pods, a user writes addresses down, and both services go': (managers) =>
    followServices(managers, live),
  'a budget is counted, spent and counted again': (managers) => spendBudget(managers, live),
});

/** The content of kinds without a spec, and the counts of a budget. */
export function figuresOf(object: KubeObject): unknown {
  const { subsets, endpoints, status } = Object(object);
  if (object.kind !== 'PodDisruptionBudget') return [subsets, endpoints];
  const { conditions = [], ...figures } = Object(status);
  return [figures, Array.from(conditions, ({ status: value, reason }) => [value, reason])];
}
