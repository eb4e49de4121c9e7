import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  CUSTOM_RESOURCE_DEFINITIONS,
  DEPLOYMENTS,
  type Deployment,
  HORIZONTAL_POD_AUTOSCALERS,
  type HorizontalPodAutoscaler,
  PODS,
  type ResourceRef,
} from '@holdfast/api';
import { autoscaler, cpuTarget, deployment, pod } from '../../testing/builders.ts';
import { createWorld, DrivenController } from '../../testing/harness.ts';
import { horizontalPodAutoscalerController } from './index.ts';
import type { MetricsSource } from './metrics-source.ts';
import { AUTOSCALING_DEFAULTS } from './settings.ts';

const SECOND = 1_000;
const AVERAGE = { type: 'AverageValue', averageValue: '1' } as const;

/** A deployment with this many pods, each with a request of 100m and the usage that the test sets. */
class Cluster {
  readonly world = createWorld();
  usedMilli = 50;
  failure: Error | undefined;
  readonly controller: DrivenController;

  constructor(replicas: number, scaler: Partial<HorizontalPodAutoscaler['spec']> = {}) {
    this.world.api.put(DEPLOYMENTS, deployment({ replicas }));
    for (let i = 0; i < replicas; i++) this.addPod(i);
    this.world.api.put(HORIZONTAL_POD_AUTOSCALERS, autoscaler(scaler));
    this.controller = this.boot();
  }

  boot(): DrivenController {
    const podUsage: MetricsSource['podUsage'] = () =>
      this.failure === undefined
        ? Promise.resolve(
            this.world.api.list(PODS).map(({ metadata }) => ({
              pod: metadata.name ?? '',
              takenAtMs: this.world.clock.now(),
              windowMs: 10 * SECOND,
              containers: [{ name: 'main', usage: { cpu: this.usedMilli } }],
            })),
          )
        : Promise.reject(this.failure);
    const settings = {
      autoscaling: AUTOSCALING_DEFAULTS,
      resources: [DEPLOYMENTS],
      metricsSource: () => ({ podUsage }),
    };
    return new DrivenController(this.world, horizontalPodAutoscalerController(settings));
  }

  addPod(i: number): void {
    const since = '2020-01-01T00:00:00Z';
    const conditions = [{ type: 'Ready', status: 'True', lastTransitionTime: since }];
    const status = { phase: 'Running', startTime: since, conditions };
    const resources = { requests: { cpu: '100m' } };
    const spec = { containers: [{ name: 'main', image: 'i', resources }] };
    this.world.api.put(PODS, pod({ name: `web-${i}`, labels: { app: 'web' } }, status, spec));
  }

  async pass(seconds = 15): Promise<void> {
    this.world.clock.skip(seconds * SECOND);
    await this.controller.settle();
    assert.deepEqual(this.controller.errors, []);
  }

  size(): number | undefined {
    return this.world.api.get(DEPLOYMENTS, { namespace: 'default', name: 'web' }).spec.replicas;
  }
  status(): HorizontalPodAutoscaler['status'] {
    return this.world.api.get(HORIZONTAL_POD_AUTOSCALERS, { namespace: 'default', name: 'web' }).status;
  }
  said(type: string): readonly unknown[] {
    const found = this.status().conditions?.find((condition) => condition.type === type);
    return [found?.status, found?.reason, found?.message];
  }
  events(): readonly string[] {
    return this.world.api.events.map(({ reason, message }) => `${reason} ${message}`);
  }
}

test('a busy deployment grows; status, conditions and event have the messages of Kubernetes', async () => {
  const cluster = new Cluster(2);
  cluster.usedMilli = 100;
  await cluster.pass();
  assert.equal(cluster.size(), 4);
  const { conditions: _conditions, lastScaleTime, ...figures } = cluster.status();
  const current = { averageUtilization: 100, averageValue: '100m' };
  const currentMetrics = [{ type: 'Resource', resource: { name: 'cpu', current } }];
  assert.deepEqual(figures, { currentReplicas: 2, desiredReplicas: 4, currentMetrics });
  assert.match(lastScaleTime ?? '', /Z$/);
  assert.deepEqual(cluster.events(), [
    'SuccessfulRescale New size: 4; reason: cpu resource utilization (percentage of request) above target',
  ]);
  const update = 'the HPA controller was able to update the target scale to 4';
  assert.deepEqual(cluster.said('AbleToScale'), ['True', 'SucceededRescale', update]);
  const from = 'cpu resource utilization (percentage of request)';
  const valid = `the HPA was able to successfully calculate a replica count from ${from}`;
  assert.deepEqual(cluster.said('ScalingActive'), ['True', 'ValidMetricFound', valid]);
  const range = 'the desired count is within the acceptable range';
  assert.deepEqual(cluster.said('ScalingLimited'), ['False', 'DesiredWithinRange', range]);
});

test('without work there is one status write, and then none', async () => {
  const cluster = new Cluster(2);
  for (let pass = 0; pass < 5; pass++) await cluster.pass();
  assert.deepEqual(
    cluster.world.api.writes.map(({ verb }) => verb),
    ['updateStatus'],
  );
});

test('an idle deployment shrinks after five minutes, also across a restart of the manager', async () => {
  const cluster = new Cluster(4);
  cluster.usedMilli = 10;
  await cluster.pass();
  await cluster.pass(200);
  cluster.controller.kill();
  const heir = cluster.boot();
  await heir.settle();
  cluster.world.clock.skip(200 * SECOND);
  await heir.settle();
  assert.equal(cluster.size(), 4, 'the new process has not looked for so long');
  cluster.world.clock.skip(100 * SECOND);
  await heir.settle();
  assert.equal(cluster.size(), 1);
  assert.deepEqual(cluster.events(), ['SuccessfulRescale New size: 1; reason: All metrics below target']);
});

test('the bounds apply at once, and a target of size zero is not scaled', async () => {
  const above = new Cluster(5, { maxReplicas: 3 });
  await above.pass();
  assert.equal(above.size(), 3);
  assert.match(above.events()[0] ?? '', /New size: 3; reason: Current number of replicas above Spec\.MaxReplicas/);
  const below = new Cluster(1, { minReplicas: 2 });
  await below.pass();
  assert.equal(below.size(), 2);
  assert.match(below.events()[0] ?? '', /below Spec\.MinReplicas/);
  const off = new Cluster(0);
  await off.pass();
  const message = 'scaling is disabled since the replica count of the target is zero';
  assert.deepEqual([off.size(), ...off.said('ScalingActive')], [0, 'False', 'ScalingDisabled', message]);
  const written = 'currentReplicas' in off.status();
  assert.equal(written, false, 'the server keeps no zero there: it would be missed, and written, at every look');
});

test('without a metric nothing is changed, and the reason is reported', async () => {
  const cluster = new Cluster(2);
  cluster.failure = new Error('nobody answers');
  await cluster.pass();
  const api = 'unable to fetch metrics from resource metrics API: nobody answers';
  const why = `failed to get cpu utilization: unable to get metrics for resource cpu: ${api}`;
  assert.deepEqual(cluster.events(), [
    `FailedGetResourceMetric ${why}`,
    `FailedComputeMetricsReplicas invalid metrics (1 invalid out of 1), first error is: failed to get cpu resource metric value: ${why}`,
  ]);
  const said = `the HPA was unable to compute the replica count: ${why}`;
  assert.deepEqual(cluster.said('ScalingActive'), ['False', 'FailedGetResourceMetric', said]);
  assert.equal(cluster.size(), 2);
});

test('the highest of several metrics counts; an unreadable one prevents scale-down, not growth', async () => {
  const metric = { name: 'requests' };
  const pods = { type: 'Pods', pods: { metric, target: AVERAGE } };
  const cluster = new Cluster(2, { metrics: [pods, cpuTarget(80), cpuTarget(40)] });
  cluster.usedMilli = 80;
  await cluster.pass();
  assert.equal(cluster.size(), 4, 'the second asks for two, the third for four');
  assert.deepEqual(
    cluster.status().currentMetrics?.map(({ type }) => type),
    ['', 'Resource', 'Resource'],
  );
  const lacking =
    'unable to get metric requests: unable to fetch metrics from custom metrics API: no custom metrics API (custom.metrics.k8s.io) registered';
  assert.ok(cluster.events().includes(`FailedGetPodsMetric ${lacking}`));
  assert.deepEqual(cluster.said('ScalingActive').slice(0, 2), ['True', 'ValidMetricFound']);
  for (const i of [2, 3]) cluster.addPod(i);
  cluster.usedMilli = 1;
  await cluster.pass(600);
  assert.equal(cluster.size(), 4);
  assert.deepEqual(cluster.said('ScalingActive').slice(0, 2), ['False', 'FailedGetPodsMetric']);
});

test('object and external metrics report what is missing', async () => {
  const describedObject = { apiVersion: 'v1', kind: 'Service', name: 'web' };
  const selector = { matchLabels: { queue: 'q' } };
  const cluster = new Cluster(2, {
    metrics: [
      { type: 'Object', object: { describedObject, metric: { name: 'hits' }, target: AVERAGE } },
      { type: 'External', external: { metric: { name: 'depth', selector }, target: AVERAGE } },
    ],
  });
  await cluster.pass();
  const [object = '', external = ''] = cluster.events();
  assert.match(object, /^FailedGetObjectMetric unable to get metric hits: Service on default web\/unable to fetch/);
  assert.match(
    external,
    /^FailedGetExternalMetric unable to get external metric default\/depth\/&LabelSelector\{.*queue: q/,
  );
  assert.match(external, /the server could not find the requested resource \(get depth\.external\.metrics\.k8s\.io\)$/);
});

test('two autoscalers that select the same pods both stop and name each other', async () => {
  const cluster = new Cluster(2);
  cluster.world.api.put(HORIZONTAL_POD_AUTOSCALERS, autoscaler({}, { name: 'again' }));
  cluster.usedMilli = 50;
  await cluster.pass();
  await cluster.pass();
  const message = 'pods by selector app=web are controlled by multiple HPAs: [default/again default/web]';
  assert.deepEqual(cluster.said('ScalingActive'), ['False', 'AmbiguousSelector', message]);
  cluster.world.api.drop(HORIZONTAL_POD_AUTOSCALERS, { namespace: 'default', name: 'again' });
  await cluster.pass();
  assert.deepEqual(cluster.said('ScalingActive').slice(0, 2), ['True', 'ValidMetricFound']);
});

test('a missing or unknown target is reported', async () => {
  const target = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'gone' };
  const absent = new Cluster(1, { scaleTargetRef: target });
  await absent.pass();
  assert.deepEqual(absent.events(), ['FailedGetScale deployments.apps "gone" not found']);
  const failed = `the HPA controller was unable to get the target's current scale: deployments.apps "gone" not found`;
  assert.deepEqual(absent.said('AbleToScale'), ['False', 'FailedGetScale', failed]);
  const unknown = new Cluster(1, { scaleTargetRef: { apiVersion: 'example.com/v1', kind: 'Fleet', name: 'web' } });
  await unknown.pass();
  assert.deepEqual(unknown.events(), ['FailedGetScale no matches for kind "Fleet" in group "example.com"']);
});

test('a target that another client changed meanwhile is read again before it is scaled', async () => {
  const cluster = new Cluster(2);
  cluster.usedMilli = 100;
  const { api } = cluster.world;
  api.beforeWrite = () => {
    api.beforeWrite = () => {};
    const met = api.get(DEPLOYMENTS, { namespace: 'default', name: 'web' });
    api.put(DEPLOYMENTS, { ...met, spec: { ...met.spec, replicas: 7 } });
  };
  await cluster.pass();
  assert.deepEqual([cluster.size(), cluster.events()], [7, []]);
  await cluster.pass(1);
  assert.equal(cluster.size(), 7, 'two busy pods ask for four, and seven was asked for a moment ago');
});

test('a custom kind is scaled when its definition has a scale', async () => {
  const group = 'example.com';
  const scaleTargetRef = { apiVersion: `${group}/v1`, kind: 'Fleet', name: 'web' };
  const cluster = new Cluster(2, { scaleTargetRef });
  const { api } = cluster.world;
  const fleets: ResourceRef<Deployment> = { group, version: 'v1', kind: 'Fleet', plural: 'fleets', namespaced: true };
  api.put(fleets, { ...deployment({ replicas: 2 }), apiVersion: `${group}/v1`, kind: 'Fleet' });
  const scale = { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' };
  api.put(CUSTOM_RESOURCE_DEFINITIONS, {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `fleets.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { kind: 'Fleet', plural: 'fleets' },
      versions: [{ name: 'v1', served: true, storage: true, subresources: { scale } }],
    },
    status: { acceptedNames: { kind: 'Fleet', plural: 'fleets' }, conditions: [], storedVersions: ['v1'] },
  });
  cluster.usedMilli = 100;
  await cluster.pass();
  assert.equal(api.get(fleets, { namespace: 'default', name: 'web' }).spec.replicas, 4);
  assert.equal(cluster.size(), 2, 'the deployment of the same name is none of its business');
});
