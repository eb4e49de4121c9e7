import assert from 'node:assert/strict';
import {
  CONFIG_MAPS,
  CONTROLLER_REVISIONS,
  CRON_JOBS,
  DAEMON_SETS,
  DEPLOYMENTS,
  ENDPOINT_SLICES,
  ENDPOINTS,
  HORIZONTAL_POD_AUTOSCALERS,
  JOBS,
  type KubeObject,
  LEASES,
  NAMESPACES,
  NODES,
  type Node,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  POD_DISRUPTION_BUDGETS,
  PODS,
  type Pod,
  REPLICA_SETS,
  REPLICATION_CONTROLLERS,
  type ResourceRef,
  SERVICES,
  STATEFUL_SETS,
} from '@holdfast/api';
import { formatMicroTime } from '@holdfast/platform';
import type { ControllerDefinition } from '../common/context.ts';
import { compareText, controllerOf, isTerminating, keyOf } from '../common/meta.ts';
import { isActive } from '../common/pods.ts';
import { AUTOSCALING_DEFAULTS } from '../controllers/horizontal-pod-autoscaler/settings.ts';
import { createGracefulEviction } from '../controllers/node-lifecycle/pod-eviction.ts';
import { allControllers } from '../registry.ts';
import { autoscalerScenarios, sharedLoad } from './autoscaler-scenarios.ts';
import {
  cronJob,
  daemonSet,
  deployment,
  job,
  node,
  pod,
  podTemplate,
  readyStatus,
  replicationController,
  statefulSet,
} from './builders.ts';
import { certificateScenarios, modelAuthority, readModelRequest } from './certificate-scenarios.ts';
import type { World } from './harness.ts';
import { endPod, runKubelets } from './kubelet-model.ts';
import { figuresOf, serviceScenarios } from './service-scenarios.ts';
import { volumeScenarios } from './volume-scenarios.ts';

const RESOURCES: readonly ResourceRef[] = [
  DEPLOYMENTS,
  REPLICA_SETS,
  REPLICATION_CONTROLLERS,
  STATEFUL_SETS,
  DAEMON_SETS,
  CONTROLLER_REVISIONS,
  JOBS,
  CRON_JOBS,
  PODS,
  NAMESPACES,
  CONFIG_MAPS,
  SERVICES,
  ENDPOINTS,
  ENDPOINT_SLICES,
  POD_DISRUPTION_BUDGETS,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  HORIZONTAL_POD_AUTOSCALERS,
];

/** Every controller that works on these kinds. */
export const CONTROLLERS: readonly ControllerDefinition[] = allControllers({
  nodeMonitorGraceMs: 50_000,
  clockRate: 0.01,
  terminatedPodThreshold: 12_500,
  podEviction: createGracefulEviction,
  autoscaling: AUTOSCALING_DEFAULTS,
  metricsSource: sharedLoad,
  approving: { readRequest: readModelRequest, access: () => () => Promise.resolve(true) },
  signing: { readRequest: readModelRequest, authority: modelAuthority },
  networkPoliciesEnforced: false,
  resources: RESOURCES,
});

/** The controllers' process: one that crashes, or several at once. */
export interface Managers {
  readonly world: World;
  /** Works until nothing is due. */
  turn(): Promise<void>;
}

export type Scenario = (managers: Managers) => Promise<void>;

/** Pods of Jobs do their work; index 1 fails at its second try. */
function doWork({ world }: Managers): void {
  for (const each of world.api.list(PODS)) {
    const { annotations = {} } = each.metadata;
    const isSecondTry = annotations['batch.kubernetes.io/job-index-failure-count'] === '1';
    const fails = isSecondTry && annotations['batch.kubernetes.io/job-completion-index'] === '1';
    if (controllerOf(each)?.kind === 'Job' && isActive(each)) endPod(world, each, fails ? 1 : 0);
  }
}

/** Enough for the longest part of a scenario, with a restart in it. */
const ROUNDS = 9;

async function live(manager: Managers): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) {
    await manager.turn();
    runKubelets(manager.world);
    manager.world.clock.skip(20_000);
  }
}

/** Advances time; only these nodes renew their leases. */
async function beat(managers: Managers, nodes: readonly string[], seconds: number): Promise<void> {
  const { world } = managers;
  for (let passed = 0; passed < seconds; passed += 5) {
    world.clock.skip(5_000);
    for (const name of nodes) {
      const metadata = { name, namespace: 'kube-node-lease' };
      const spec = { renewTime: formatMicroTime(world.clock.now()) };
      world.api.put(LEASES, { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec });
    }
    await managers.turn();
  }
}

function edit<T extends KubeObject & { readonly spec: object }>(
  { world }: Managers,
  kind: ResourceRef<T>,
  spec: Partial<T['spec']>,
): void {
  const [old] = world.api.list(kind);
  assert.ok(old);
  const metadata = { ...old.metadata, generation: (old.metadata.generation ?? 1) + 1 };
  world.api.put(kind, { ...old, metadata, spec: { ...old.spec, ...spec } });
}

export const SCENARIOS: Readonly<Record<string, Scenario>> = {
  ...serviceScenarios(live),
  ...volumeScenarios(live),
  ...autoscalerScenarios(live),
  ...certificateScenarios(live),
  'a Deployment is rolled out, scaled and deleted': async (manager) => {
    const user = manager.world.api.client('user');
    manager.world.api.put(NODES, node('node-a'));
    await user.create(DEPLOYMENTS, deployment({ replicas: 2 }));
    await live(manager);
    edit(manager, DEPLOYMENTS, { template: podTemplate({ app: 'web' }, 'web:2') });
    await live(manager);
    assert.equal(manager.world.api.list(PODS).length, 2);
    await user.delete(DEPLOYMENTS, { namespace: 'default', name: 'web' }, { propagationPolicy: 'Foreground' });
    await live(manager);
  },
  'a StatefulSet is created, updated and shrunk': async (manager) => {
    manager.world.api.put(NODES, node('node-a'));
    await manager.world.api.client('user').create(STATEFUL_SETS, statefulSet({ replicas: 2 }));
    await live(manager);
    edit(manager, STATEFUL_SETS, { template: podTemplate({ app: 'db' }, 'db:2') });
    await live(manager);
    edit(manager, STATEFUL_SETS, { replicas: 1 });
    await live(manager);
  },
  'a ReplicationController is created and shrunk': async (manager) => {
    manager.world.api.put(NODES, node('node-a'));
    await manager.world.api.client('user').create(REPLICATION_CONTROLLERS, replicationController({ replicas: 3 }));
    await live(manager);
    edit(manager, REPLICATION_CONTROLLERS, { replicas: 1 });
    await live(manager);
  },
  'an indexed Job is worked off, with a failure and a pause': async (manager) => {
    manager.world.api.put(NODES, node('node-a'));
    const spec = { completionMode: 'Indexed', completions: 3, parallelism: 2, backoffLimitPerIndex: 2 };
    await manager.world.api.client('user').create(JOBS, job({ ...spec, podReplacementPolicy: 'Failed' }));
    await manager.turn();
    edit(manager, JOBS, { suspend: true });
    await live(manager);
    edit(manager, JOBS, { suspend: false });
    for (let round = 0; round < ROUNDS; round++) {
      await live(manager);
      doWork(manager);
    }
    await live(manager);
  },
  'a CronJob starts Jobs that are worked off and forgotten': async (manager) => {
    manager.world.api.put(NODES, node('node-a'));
    const template = { metadata: {}, spec: job({ ttlSecondsAfterFinished: 300 }).spec };
    const spec = { schedule: '*/10 * * * *', concurrencyPolicy: 'Replace', jobTemplate: template };
    await manager.world.api.client('user').create(CRON_JOBS, cronJob(spec));
    for (let tenMinutes = 0; tenMinutes < 2; tenMinutes++) {
      manager.world.clock.skip(600_000);
      await live(manager);
      doWork(manager);
      await live(manager);
    }
    edit(manager, CRON_JOBS, { suspend: true });
    await live(manager);
  },
  'a DaemonSet follows its nodes and a new template': async (manager) => {
    const { api } = manager.world;
    for (const name of ['node-a', 'node-b']) api.put(NODES, node(name));
    await api.client('user').create(DAEMON_SETS, daemonSet());
    await live(manager);
    api.put(NODES, node('node-c'));
    await live(manager);
    edit(manager, DAEMON_SETS, { template: podTemplate({ app: 'agent' }, 'agent:2') });
    await live(manager);
    api.drop(NODES, { name: 'node-a' });
    await live(manager);
  },
  'an owner goes without its dependents, then each of them with theirs': async (manager) => {
    const { api } = manager.world;
    const user = api.client('user');
    api.put(NODES, node('node-a'));
    await user.create(DEPLOYMENTS, deployment({ replicas: 2 }));
    await live(manager);
    await user.delete(DEPLOYMENTS, { namespace: 'default', name: 'web' }, { propagationPolicy: 'Orphan' });
    await live(manager);
    assert.equal(api.list(PODS).filter(isActive).length, 2, 'orphans live on');
    for (const { metadata } of api.list(REPLICA_SETS)) {
      await user.delete(REPLICA_SETS, { namespace: 'default', name: metadata.name ?? '' });
    }
    await live(manager);
  },
  'a silent node is found out, its pods have to go, and it comes back': async (manager) => {
    const { api } = manager.world;
    for (const name of ['node-a', 'node-b']) api.put(NODES, node(name));
    const ready = readyStatus('2026-01-01T00:00:00Z');
    const patience = { key: 'node.kubernetes.io/unreachable', operator: 'Exists', tolerationSeconds: 60 };
    api.put(PODS, pod({ name: 'patient' }, ready, { nodeName: 'node-a', tolerations: [patience] }));
    api.put(PODS, pod({ name: 'tied' }, ready, { nodeName: 'node-a', tolerations: [{ operator: 'Exists' }] }));
    api.put(PODS, pod({ name: 'elsewhere' }, ready, { nodeName: 'node-b' }));
    await beat(manager, ['node-a', 'node-b'], 20);
    await beat(manager, ['node-b'], 400);
    assert.deepEqual(api.list(PODS).map(isTerminating), [true, false, false]);
    api.put(NODES, { ...api.get(NODES, { name: 'node-a' }), status: node('node-a').status });
    await beat(manager, ['node-a', 'node-b'], 40);
  },
  'a namespace is emptied and a lost node’s pod released': async (manager) => {
    const { api } = manager.world;
    const user = api.client('user');
    const metadata = { name: 'team' };
    const spec = { finalizers: ['kubernetes'] };
    await user.create(NAMESPACES, { apiVersion: 'v1', kind: 'Namespace', metadata, spec, status: { phase: 'Active' } });
    await user.create(CONFIG_MAPS, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c', namespace: 'team' } });
    await user.create(PODS, pod({ name: 'p', namespace: 'team' }, { phase: 'Running' }, { nodeName: 'gone' }));
    api.put(NODES, node('other'));
    await user.delete(NAMESPACES, { name: 'team' });
    for (let round = 0; round < 8; round++) {
      await manager.turn();
      manager.world.clock.skip(20_000);
    }
  },
};

/** A Job's counts of its pods: whatever happened in between, each pod counts once. */
function booksOf(object: KubeObject): unknown {
  if (object.kind !== 'Job' || !('status' in object)) return undefined;
  const { startTime: _start, completionTime: _end, conditions = [], ...books } = Object(object.status);
  return [books, Array.from(conditions, ({ type, status, reason }) => [type, status, reason])];
}

/** The final objects and their states; uids, times and revisions differ between runs. */
export function endOf({ world }: Managers): readonly string[] {
  const told = (object: KubeObject): string =>
    `${object.kind} ${JSON.stringify([
      keyOf(object),
      'spec' in object ? object.spec : undefined,
      !isTerminating(object),
      object.metadata.finalizers,
      booksOf(object),
      figuresOf(object),
      conditionsOf(object),
    ])}`;
  const objects = [...RESOURCES, NODES].flatMap((kind) => world.api.list<KubeObject>(kind));
  return objects.map((object) => normalized(told(object))).sort(compareText);
}

const conditionsOf = (object: KubeObject): unknown =>
  object.kind === 'Pod' || object.kind === 'Node'
    ? (object as Pod | Node).status.conditions?.map(({ type, status, reason }) => [type, status, reason])
    : undefined;

/** Names of pods follow from uids, which a lost create shifts. */
const normalized = (text: string): string =>
  text
    .replaceAll(/web-[a-z0-9]{10}-[a-z0-9]{5}/g, 'web-pod')
    .replaceAll(/"default\/(web|task-\d|tick-\d+)-[a-z0-9]{5}"/g, '"$1-pod"')
    .replaceAll(/"timeAdded":"[^"]*"/g, '"timeAdded":""');

/** The numbers of created and ended objects per kind; a repeated delete request is harmless. */
export function effortOf({ world }: Managers): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  const ended = new Set<string>();
  for (const { identity, verb, resource, key, request } of world.api.writes) {
    if (identity === 'user' || (verb !== 'create' && verb !== 'delete')) continue;
    const end = `${resource} ${request?.uid ?? key}`;
    if (verb === 'delete' && ended.has(end)) continue;
    if (verb === 'delete') ended.add(end);
    counts[`${verb} ${resource}`] = (counts[`${verb} ${resource}`] ?? 0) + 1;
  }
  return counts;
}
