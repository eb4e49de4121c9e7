import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { HoldfastProcess } from '../support/holdfast-process.ts';
import { createKubectl } from '../support/kubectl.ts';
import { waitFor } from '../support/wait.ts';

/** A few looks of 15 s, on a machine that has other things to do. */
const SCALE_DEADLINE_MS = 120_000;

let cluster: HoldfastProcess;
const { run, send } = createKubectl(() => cluster.ready.kubeconfig);

const template = (app: string): object => ({
  metadata: { labels: { app } },
  spec: {
    terminationGracePeriodSeconds: 0,
    containers: [
      { name: 'main', image: 'busybox', command: ['sleep', '3600'], resources: { requests: { cpu: '10m' } } },
    ],
  },
});
const workload = (kind: string, name: string): object => ({
  apiVersion: 'apps/v1',
  kind,
  metadata: { name, namespace: 'default' },
  spec: { replicas: 1, selector: { matchLabels: { app: name } }, template: template(name) },
});
const replicasOf = async (target: string): Promise<string> => run('get', target, '-o', 'jsonpath={.spec.replicas}');

before(async () => {
  cluster = await HoldfastProcess.start(['--memory']);
});
after(() => cluster[Symbol.asyncDispose]());

test('autoscale keeps a deployment within its bounds and reports it; both versions show the same', async () => {
  await send(['create'], workload('Deployment', 'web'));
  assert.match(await run('autoscale', 'deployment', 'web', '--min=2', '--max=3', '--cpu-percent=50'), /autoscaled/);
  await waitFor('two replicas', async () => (await replicasOf('deployment/web')) === '2', SCALE_DEADLINE_MS);
  const [header = '', row = ''] = (await run('get', 'hpa')).trim().split('\n');
  assert.match(header, /^NAME\s+REFERENCE\s+TARGETS\s+MINPODS\s+MAXPODS\s+REPLICAS\s+AGE$/);
  assert.match(row, /^web\s+Deployment\/web\s+cpu: (<unknown>|\d+%)\/50%\s+2\s+3\s+\d\s+\S+$/);
  const v1 = await run(
    'get',
    'horizontalpodautoscalers.v1.autoscaling',
    'web',
    '-o',
    'jsonpath={.spec.targetCPUUtilizationPercentage}',
  );
  assert.equal(v1, '50');
  await waitFor('the story is told', async () =>
    /SuccessfulRescale\s.*New size: 2; reason: Current number of replicas below Spec\.MinReplicas/.test(
      await run('describe', 'hpa', 'web'),
    ),
  );
});

test('a stateful set grows with the usage of its processes, and describe explains it', async () => {
  await send(['create'], workload('StatefulSet', 'db'), {
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    metadata: { name: 'db', namespace: 'default' },
    spec: {
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'db' },
      maxReplicas: 3,
      metrics: [
        { type: 'Resource', resource: { name: 'memory', target: { type: 'AverageValue', averageValue: '1Ki' } } },
      ],
    },
  });
  await waitFor('three replicas', async () => (await replicasOf('statefulset/db')) === '3', SCALE_DEADLINE_MS);
  const described = await waitFor(
    'it was measured again',
    async () => {
      const text = await run('describe', 'hpa', 'db');
      return /ScalingLimited\s+True\s+TooManyReplicas/.test(text) ? text : undefined;
    },
    SCALE_DEADLINE_MS,
  );
  assert.match(described, /Reference:\s+StatefulSet\/db/);
  assert.match(described, /resource memory on pods:\s+\d+\S* \/ 1Ki/);
  assert.match(
    described,
    /ScalingActive\s+True\s+ValidMetricFound\s+the HPA was able to successfully calculate a replica count from memory resource/,
  );
  assert.match(described, /SuccessfulRescale\s.*New size: 3; reason: memory resource above target/);
});
