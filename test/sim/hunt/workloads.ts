import {
  DEPLOYMENTS,
  JOBS,
  type Job,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  POD_DISRUPTION_BUDGETS,
  PODS,
  type PodSpec,
  type PodTemplateSpec,
  STATEFUL_SETS,
} from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import type { APPS } from './plan.ts';

export const REPLICAS: Readonly<Record<(typeof APPS)[number], number>> = { db: 3, web: 3, disk: 1 };
export const WEB_MIN_AVAILABLE = 2;
const STOP_SECONDS = '4';
const GRACE_SECONDS = 10;
/** How long pods stay on an unreachable node. */
const TOLERATION_SECONDS = 15;

export const named = (name: string): { namespace: string; name: string } => ({ namespace: 'default', name });

/**
 * A StatefulSet `db`, a Deployment `web` with a budget, a Deployment `disk` with a single-node disk, a pod `one`
 * without an owner, and a finite Job.
 */
export async function createHuntWorkloads(admin: ApiClient): Promise<void> {
  await createDisk(admin);
  await createSet(admin);
  await createDeployment(admin, 'web');
  await createDeployment(admin, 'disk');
  await createBudget(admin);
  await createOne(admin);
  await createJob(admin, 'first-job');
}

const withStatus = { status: {} };
const meta = (name: string) => ({ namespace: 'default', name });

export async function createSet(admin: ApiClient): Promise<void> {
  await admin.create(STATEFUL_SETS, {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: meta('db'),
    spec: {
      replicas: REPLICAS.db,
      serviceName: 'db',
      updateStrategy: {},
      selector: { matchLabels: { app: 'db' } },
      template: templateOf('db'),
    },
    status: { replicas: 0 },
  });
}

export async function createDeployment(admin: ApiClient, app: 'web' | 'disk'): Promise<void> {
  const surge = app === 'web' ? {} : { rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } };
  await admin.create(DEPLOYMENTS, {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: meta(app),
    spec: {
      replicas: REPLICAS[app],
      strategy: surge,
      selector: { matchLabels: { app } },
      template: templateOf(app),
    },
    ...withStatus,
  });
}

/** Always under the same name. */
export async function createOne(admin: ApiClient): Promise<void> {
  const { spec } = templateOf('one');
  await admin.create(PODS, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...meta('one'), labels: { app: 'one' } },
    spec: { ...spec, containers: spec?.containers ?? [] },
    ...withStatus,
  });
}

export async function createJob(admin: ApiClient, name: string): Promise<void> {
  const containers = [{ name: 'main', image: 'busybox', command: ['exit-after', '5', '0'], resources: {} }];
  const job: Job = {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: meta(name),
    spec: {
      completions: 3,
      parallelism: 2,
      template: { metadata: { labels: { app: 'job' } }, spec: { containers, restartPolicy: 'Never' } },
    },
    ...withStatus,
  };
  await admin.create(JOBS, job);
}

async function createBudget(admin: ApiClient): Promise<void> {
  await admin.create(POD_DISRUPTION_BUDGETS, {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: meta('web'),
    spec: { minAvailable: WEB_MIN_AVAILABLE, selector: { matchLabels: { app: 'web' } } },
    status: { currentHealthy: 0, desiredHealthy: 0, disruptionsAllowed: 0, expectedPods: 0 },
  });
}

async function createDisk(admin: ApiClient): Promise<void> {
  await admin.create(PERSISTENT_VOLUMES, {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: 'disk' },
    spec: {
      accessModes: ['ReadWriteOnce'],
      capacity: { storage: '1Gi' },
      iscsi: { targetPortal: '10.0.0.9:3260', iqn: 'iqn.2026-11.example:disk', lun: 0 },
    },
    ...withStatus,
  });
  await admin.create(PERSISTENT_VOLUME_CLAIMS, {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: meta('data'),
    spec: { accessModes: ['ReadWriteOnce'], storageClassName: '', resources: { requests: { storage: '1Gi' } } },
    ...withStatus,
  });
}

function templateOf(app: string): PodTemplateSpec {
  const volumes: Partial<PodSpec> =
    app === 'disk' ? { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }] } : {};
  const mounts = app === 'disk' ? { volumeMounts: [{ name: 'data', mountPath: '/data' }] } : {};
  const container = { name: 'main', image: 'busybox', command: ['stop-after', STOP_SECONDS], resources: {}, ...mounts };
  return {
    metadata: { labels: { app } },
    spec: {
      terminationGracePeriodSeconds: GRACE_SECONDS,
      tolerations: ['not-ready', 'unreachable'].map((key) => ({
        key: `node.kubernetes.io/${key}`,
        operator: 'Exists',
        effect: 'NoExecute',
        tolerationSeconds: TOLERATION_SECONDS,
      })),
      containers: [container],
      ...volumes,
    },
  };
}
