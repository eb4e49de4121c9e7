import {
  CONFIG_MAPS,
  DEPLOYMENTS,
  JOBS,
  type Job,
  NAMESPACES,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  POD_DISRUPTION_BUDGETS,
  PODS,
  type Pod,
  type PodSpec,
  type PodTemplateSpec,
  RESOURCE_QUOTAS,
  SERVICE_ACCOUNTS,
  STATEFUL_SETS,
} from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { APPS, type HuntPlan, replicasOf } from './plan.ts';

export const WEB_MIN_AVAILABLE = 2;
/** What a user sets, and takes off again. */
export const FINALIZER = 'hunt/hold';
/** The label of a pod that a user has taken from its controller for a while. */
export const STRAYED = 'strayed';
const MOST_REPLICAS = 4;
const STOP_SECONDS = 4;
/** More grace than a process needs to end. */
const SPARE_GRACE_SECONDS = 6;
/** More than half of what a node has. */
const LARGE_CPU = '20';
/** A namespace that may have few ConfigMaps. */
export const BOUNDED = 'bounded';
export const QUOTA = 4;
/** How long pods stay on an unreachable node. */
const TOLERATION_SECONDS = 15;

export const named = (name: string): { namespace: string; name: string } => ({ namespace: 'default', name });

/**
 * A StatefulSet `db`, a Deployment `web` with a budget, a Deployment `disk` with a single-node disk, a pod `one` without
 * an owner, and a namespace with a quota.
 */
export async function createHuntWorkloads(plan: HuntPlan, admin: ApiClient): Promise<void> {
  await createDisk(admin, 'disk', 'data');
  if (plan.hasDisks === true)
    for (let ordinal = 0; ordinal < MOST_REPLICAS; ordinal++)
      await createDisk(admin, diskOf(plan, `db-${ordinal}`) ?? '', `data-db-${ordinal}`);
  await admin.create(PERSISTENT_VOLUME_CLAIMS, { ...CLAIM, metadata: meta('data') });
  for (const app of APPS) await createApp(plan, admin, app);
  await createBounded(admin);
  await createBudget(admin);
  await createOne(plan, admin);
}

/** How long the processes of a pod need to end. */
export const stopSecondsOf = ({ stopSeconds = STOP_SECONDS }: Pick<HuntPlan, 'stopSeconds'>): number => stopSeconds;

const withStatus = { status: {} };
const meta = (name: string) => ({ namespace: 'default', name });

export const createApp = (plan: HuntPlan, admin: ApiClient, app: string): Promise<void> =>
  app === 'db'
    ? createSet(plan, admin)
    : createDeployment(plan, admin, { app, replicas: replicasOf(plan)[app === 'web' ? 'web' : 'disk'] });

/** The disk that a pod of this name writes to. */
export const diskOf = ({ hasDisks }: Pick<HuntPlan, 'hasDisks'>, podName: string): string | undefined => {
  if (podName.startsWith('disk-')) return 'disk';
  return hasDisks === true && /^db-\d$/.test(podName) ? `disk-of-${podName}` : undefined;
};

async function createSet(plan: HuntPlan, admin: ApiClient): Promise<void> {
  const claims = plan.hasDisks === true ? { volumeClaimTemplates: [{ ...CLAIM, metadata: { name: 'data' } }] } : {};
  await admin.create(STATEFUL_SETS, {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: meta('db'),
    spec: {
      replicas: replicasOf(plan).db,
      serviceName: 'db',
      updateStrategy: {},
      selector: { matchLabels: { app: 'db' } },
      template: templateOf(stopSecondsOf(plan), 'db', plan.hasDisks === true ? 'template' : 'none'),
      ...claims,
    },
    status: { replicas: 0 },
  });
}

export async function createDeployment(
  plan: HuntPlan,
  admin: ApiClient,
  { app, replicas }: { readonly app: string; readonly replicas: number },
): Promise<void> {
  const surge = app !== 'disk' ? {} : { rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } };
  await admin.create(DEPLOYMENTS, {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: meta(app),
    spec: {
      replicas,
      strategy: surge,
      selector: { matchLabels: { app } },
      template: templateOf(stopSecondsOf(plan), app, app === 'disk' ? 'claim' : 'none'),
    },
    ...withStatus,
  });
}

/** Always under the same name. */
export async function createOne(plan: HuntPlan, admin: ApiClient): Promise<void> {
  await admin.create(PODS, podOf(plan, 'one'));
}

/** A pod that its creator has placed, and that leaves no room for another one of its kind. */
export async function createLarge(
  plan: HuntPlan,
  admin: ApiClient,
  { name, node }: { readonly name: string; readonly node: string },
): Promise<void> {
  const { spec, ...pod } = podOf(plan, name);
  const containers = spec.containers.map((each) => ({ ...each, resources: { requests: { cpu: LARGE_CPU } } }));
  await admin.create(PODS, { ...pod, spec: { ...spec, containers, nodeName: node } });
}

function podOf(plan: HuntPlan, name: string): Pod {
  const { spec } = templateOf(stopSecondsOf(plan), name, 'none');
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...meta(name), labels: { app: name } },
    spec: { ...spec, containers: spec?.containers ?? [] },
    ...withStatus,
  };
}

/** `ttlSeconds` above 0: it goes by itself so long after its end. */
export async function createJob(admin: ApiClient, name: string, ttlSeconds = 0): Promise<void> {
  const containers = [{ name: 'main', image: 'busybox', command: ['exit-after', '5', '0'], resources: {} }];
  const job: Job = {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: meta(name),
    spec: {
      completions: 3,
      parallelism: 2,
      ...(ttlSeconds > 0 ? { ttlSecondsAfterFinished: ttlSeconds } : {}),
      template: { metadata: { labels: { app: 'job' } }, spec: { containers, restartPolicy: 'Never' } },
    },
    ...withStatus,
  };
  await admin.create(JOBS, job);
}

async function createBounded(admin: ApiClient): Promise<void> {
  const metadata = { name: BOUNDED };
  await admin.create(NAMESPACES, { apiVersion: 'v1', kind: 'Namespace', metadata, spec: {}, ...withStatus });
  await admin.create(RESOURCE_QUOTAS, {
    apiVersion: 'v1',
    kind: 'ResourceQuota',
    metadata: { namespace: BOUNDED, name: 'few' },
    spec: { hard: { configmaps: String(QUOTA) } },
    ...withStatus,
  });
}

/** One object in the namespace that has a quota. */
export async function createCounted(user: ApiClient, name: string): Promise<void> {
  await user.create(CONFIG_MAPS, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: BOUNDED, name } });
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

const CLAIM = {
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  spec: { accessModes: ['ReadWriteOnce'], storageClassName: '', resources: { requests: { storage: '1Gi' } } },
  ...withStatus,
};

/** A disk for this claim alone. */
async function createDisk(admin: ApiClient, name: string, claim: string): Promise<void> {
  await admin.create(PERSISTENT_VOLUMES, {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name },
    spec: {
      accessModes: ['ReadWriteOnce'],
      capacity: { storage: '1Gi' },
      claimRef: named(claim),
      iscsi: { targetPortal: '10.0.0.9:3260', iqn: `iqn.2026-11.example:${name}`, lun: 0 },
    },
    ...withStatus,
  });
}

/** An object, and others of two kinds that it owns. */
export async function createFamily(admin: ApiClient, name: string, children: number): Promise<void> {
  const owner = await admin.create(CONFIG_MAPS, { apiVersion: 'v1', kind: 'ConfigMap', metadata: meta(name) });
  const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name, uid: owner.metadata.uid ?? '' }];
  for (let i = 0; i < children; i++) {
    const metadata = { ...meta(`${name}-${i}`), ownerReferences };
    if (i % 2 === 0) await admin.create(SERVICE_ACCOUNTS, { apiVersion: 'v1', kind: 'ServiceAccount', metadata });
    else await admin.create(CONFIG_MAPS, { apiVersion: 'v1', kind: 'ConfigMap', metadata });
  }
}

/** A namespace with something in it that goes at once, and something that takes its time. */
export async function createSideNamespace(plan: HuntPlan, admin: ApiClient, name: string): Promise<void> {
  await admin.create(NAMESPACES, { apiVersion: 'v1', kind: 'Namespace', metadata: { name }, spec: {}, ...withStatus });
  const inside = (own: string) => ({ namespace: name, name: own });
  await admin.create(CONFIG_MAPS, { apiVersion: 'v1', kind: 'ConfigMap', metadata: inside('settings') });
  await admin.create(PODS, {
    ...podOf(plan, 'aside'),
    metadata: { ...inside(`aside-of-${name}`), labels: { app: 'aside' } },
  });
}

/** `claim`: of one claim for all; `template`: of a claim of its own, which the set adds. */
function templateOf(stopSeconds: number, app: string, disk: 'none' | 'claim' | 'template'): PodTemplateSpec {
  const volumes: Partial<PodSpec> =
    disk === 'claim' ? { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }] } : {};
  const mounts = disk !== 'none' ? { volumeMounts: [{ name: 'data', mountPath: '/data' }] } : {};
  const container = {
    name: 'main',
    image: 'busybox',
    command: ['stop-after', String(stopSeconds)],
    resources: {},
    ...mounts,
  };
  return {
    metadata: { labels: { app } },
    spec: {
      terminationGracePeriodSeconds: stopSeconds + SPARE_GRACE_SECONDS,
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
