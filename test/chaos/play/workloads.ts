import {
  DEPLOYMENTS,
  type Deployment,
  JOBS,
  PERSISTENT_VOLUME_CLAIMS,
  type PersistentVolumeClaim,
  POD_DISRUPTION_BUDGETS,
  PODS,
  type Pod,
  type PodTemplateSpec,
  STATEFUL_SETS,
} from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import type { Scenario } from '../../scenario/model.ts';
import { BEATS, createVolumes, PROGRAM_COMMAND, prepareProgram, templateOf, volumeOf } from '../losses/workloads.ts';
import type { ComposeCluster } from '../support/compose-cluster.ts';

const NAMESPACE = 'default';
const MIN_AVAILABLE = 2;
/** As long as the pods of the simulator stay on an unreachable node. */
const TOLERATION_SECONDS = 15;

export const named = (name: string): { namespace: string; name: string } => ({ namespace: NAMESPACE, name });

/** The pods of the StatefulSet, by their names. */
export const identitiesOf = ({ workload }: Scenario): readonly string[] =>
  Array.from({ length: MOST_REPLICAS }, (_, ordinal) => `db-${ordinal}`).slice(0, Math.max(workload.replicas.db, 4));

const MOST_REPLICAS = 9;

/** The workloads of a scenario, as the simulator has them: `db`, `web` with its budget, `disk`, `one` and a Job. */
export async function createScenarioWorkloads(cluster: ComposeCluster, scenario: Scenario): Promise<void> {
  const { admin } = cluster;
  const { replicas, hasDisks } = scenario.workload;
  const identities = identitiesOf(scenario);
  await prepareProgram(cluster, identities);
  await createVolumes(cluster, [...(hasDisks ? identities : []), 'disk']);
  await admin.create(PERSISTENT_VOLUME_CLAIMS, { ...claim(volumeOf('disk')), metadata: named(volumeOf('disk')) });
  await createSet(admin, replicas.db, hasDisks);
  await admin.create(DEPLOYMENTS, deployment('web', replicas.web, template('web', BEATS)));
  await admin.create(DEPLOYMENTS, diskDeployment(replicas.disk));
  await admin.create(POD_DISRUPTION_BUDGETS, {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: named('web'),
    spec: { minAvailable: MIN_AVAILABLE, selector: { matchLabels: { app: 'web' } } },
    status: { currentHealthy: 0, desiredHealthy: 0, disruptionsAllowed: 0, expectedPods: 0 },
  });
  await createOne(admin);
  await createJob(admin, 'first-job');
}

async function createSet(admin: ApiClient, replicas: number, hasDisks: boolean): Promise<void> {
  const selector = { matchLabels: { app: 'db' } };
  const base = { replicas, serviceName: 'db', selector, updateStrategy: {} };
  const spec = hasDisks
    ? { ...base, template: template('db', PROGRAM_COMMAND, true), volumeClaimTemplates: [claim('data')] }
    : { ...base, template: template('db', BEATS) };
  await admin.create(STATEFUL_SETS, {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: named('db'),
    spec,
    status: { replicas: 0 },
  });
}

function deployment(app: string, replicas: number, template: PodTemplateSpec): Deployment {
  const spec = { replicas, selector: { matchLabels: { app } }, template, strategy: {} };
  return { apiVersion: 'apps/v1', kind: 'Deployment', metadata: named(app), spec, status: {} };
}

/** Its pods write to one volume in turn. */
function diskDeployment(replicas: number): Deployment {
  const { metadata, spec } = template('disk', PROGRAM_COMMAND, true);
  const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: volumeOf('disk') } }];
  const base = deployment('disk', replicas, {
    metadata,
    spec: { ...spec, containers: spec?.containers ?? [], volumes },
  });
  return { ...base, spec: { ...base.spec, strategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } } } };
}

/** A pod without a controller, always under the same name. */
export async function createOne(admin: ApiClient): Promise<void> {
  const { spec } = template('one', BEATS);
  const pod: Pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...named('one'), labels: { app: 'one' } },
    spec: { ...spec, containers: spec?.containers ?? [] },
    status: {},
  };
  await admin.create(PODS, pod);
}

/** `ttlSeconds`: how long it stays after its end; 0: for ever. */
export async function createJob(admin: ApiClient, name: string, ttlSeconds = 0): Promise<void> {
  const containers = [{ name: 'main', image: 'busybox', command: ['sleep', '5'], resources: {} }];
  await admin.create(JOBS, {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: named(name),
    spec: {
      completions: 3,
      parallelism: 2,
      ...(ttlSeconds === 0 ? {} : { ttlSecondsAfterFinished: ttlSeconds }),
      template: { metadata: { labels: { app: 'job' } }, spec: { containers, restartPolicy: 'Never' } },
    },
    status: {},
  });
}

function template(app: string, command: readonly string[], hasVolume = false): PodTemplateSpec {
  const mounts = hasVolume ? { volumeMounts: [{ name: 'data', mountPath: '/data' }] } : {};
  const { metadata, spec } = templateOf(app, command, mounts);
  const tolerations = ['not-ready', 'unreachable'].map((key) => ({
    key: `node.kubernetes.io/${key}`,
    operator: 'Exists',
    effect: 'NoExecute',
    tolerationSeconds: TOLERATION_SECONDS,
  }));
  return { metadata, spec: { ...spec, containers: spec?.containers ?? [], tolerations } };
}

const claim = (name: string): PersistentVolumeClaim => ({
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { name },
  spec: { accessModes: ['ReadWriteOnce'], storageClassName: '', resources: { requests: { storage: '1Gi' } } },
  status: {},
});
