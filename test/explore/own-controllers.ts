import { ACCOUNT_CONTROLLERS } from './own-accounts.ts';
import { NODE_CONTROLLERS } from './own-nodes.ts';
import { STORAGE_CONTROLLERS } from './own-storage.ts';
import {
  apply,
  applyStatus,
  at,
  claim as claimOf,
  deployment,
  labels,
  type OwnControllers,
  own as ownOf,
  pods,
  remove,
} from './own-workload.ts';

const statefulSet = (replicas: number, more: object = {}) => ({
  apiVersion: 'apps/v1',
  kind: 'StatefulSet',
  metadata: at('db'),
  spec: { replicas, serviceName: 'db', selector: { matchLabels: labels }, template: pods(), ...more },
});

/** The claims stay without a volume, so all pods are made at once, and wait. */
const CLAIMS = {
  podManagementPolicy: 'Parallel',
  persistentVolumeClaimRetentionPolicy: { whenScaled: 'Delete', whenDeleted: 'Retain' },
  volumeClaimTemplates: [
    {
      metadata: { name: 'data' },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
    },
  ],
};

const job = {
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: at('once'),
  spec: {
    completions: 2,
    parallelism: 1,
    template: { spec: { ...pods(['sleep', '0']).spec, restartPolicy: 'Never' } },
  },
};

const service = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: at('web'),
  spec: { selector: labels, ports: [{ name: 'http', port: 80, targetPort: 8080 }] },
};

/** Its first template has two states: a DaemonSet whose template was never seen has no revision of it, as in Kubernetes. */
const daemonSet = (env: string, team: string) => ({
  apiVersion: 'apps/v1',
  kind: 'DaemonSet',
  metadata: { ...at('agent'), labels: { team } },
  spec: { selector: { matchLabels: labels }, template: pods([], env) },
});

const replicationController = (replicas: number) => ({
  apiVersion: 'v1',
  kind: 'ReplicationController',
  metadata: at('old'),
  spec: { replicas, selector: labels, template: pods() },
});

/** It comes once a year, so the time that it has missed is the same in every run. */
const cronJob = (suspend: boolean) => ({
  apiVersion: 'batch/v1',
  kind: 'CronJob',
  metadata: at('yearly'),
  spec: { schedule: '0 0 1 1 *', suspend, successfulJobsHistoryLimit: 1, jobTemplate: { spec: job.spec } },
});

const lastScheduled = (year: number) => ({ ...cronJob(true), status: { lastScheduleTime: `${year}-06-01T00:00:00Z` } });

const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team' } };
const configMap = (name: string, namespaceName = 'default') => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: namespaceName },
});

const volume = {
  apiVersion: 'v1',
  kind: 'PersistentVolume',
  metadata: { name: 'disk' },
  spec: {
    capacity: { storage: '1Gi' },
    accessModes: ['ReadWriteOnce'],
    persistentVolumeReclaimPolicy: 'Retain',
    hostPath: { path: '/tmp/holdfast-explore' },
  },
};

const claim = claimOf('data');

const budget = {
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: at('web'),
  spec: { minAvailable: 1, selector: { matchLabels: labels } },
};

const quota = {
  apiVersion: 'v1',
  kind: 'ResourceQuota',
  metadata: at('few'),
  spec: { hard: { 'count/configmaps': '5' } },
};

const bare = { ...service, spec: { ports: service.spec.ports } };
const addresses = (...ips: readonly string[]) => ({
  apiVersion: 'v1',
  kind: 'Endpoints',
  metadata: at('web'),
  subsets: [{ addresses: ips.map((ip) => ({ ip })), ports: [{ name: 'http', port: 8080 }] }],
});

const own = (controllers: readonly string[], ...steps: readonly object[]): OwnControllers => ownOf(controllers, steps);

export const OWN_CONTROLLERS: ReadonlyMap<string, OwnControllers> = new Map([
  ['deployment', own(['deployment'], apply(deployment(2)), apply(deployment(3)), apply(deployment(3, '2')))],
  ['replicaset', own(['replicaset'], apply(deployment(2)), apply(deployment(3)), apply(deployment(1)))],
  ['statefulset', own(['statefulset'], apply(statefulSet(2)), apply(statefulSet(3)), apply(statefulSet(1)))],
  ['statefulset-start', own(['statefulset'], apply(statefulSet(2)))],
  [
    'statefulset-claims',
    own(['statefulset'], apply(statefulSet(2, CLAIMS)), apply(statefulSet(1, CLAIMS)), apply(statefulSet(2, CLAIMS))),
  ],
  ['job', own(['job'], apply(job), apply({ ...job, metadata: { ...job.metadata, labels } }), remove(job))],
  ['garbage-collector', own(['garbage-collector'], apply(deployment(2)), remove(deployment(2)))],
  [
    'endpointslice',
    own(['endpointslice', 'endpoints'], apply(service), apply(deployment(2)), apply(deployment(1)), remove(service)),
  ],
  [
    'endpointslice-mirroring',
    own(
      ['endpointslicemirroring'],
      apply(bare),
      apply(addresses('192.0.2.1')),
      apply(addresses('192.0.2.1', '192.0.2.2')),
      remove(addresses()),
    ),
  ],
  ['daemonset', own(['daemonset'], apply(daemonSet('1', 'a')), apply(daemonSet('1', 'b')), apply(daemonSet('2', 'b')))],
  [
    'replicationcontroller',
    own(['replicationcontroller'], apply(replicationController(2)), apply(replicationController(1))),
  ],
  [
    'cronjob',
    own(
      ['cronjob'],
      apply(cronJob(true)),
      applyStatus(lastScheduled(2020)),
      apply(cronJob(false)),
      remove(cronJob(false)),
    ),
  ],
  [
    'ttl-after-finished',
    own(['ttl-after-finished'], apply({ ...job, spec: { ...job.spec, ttlSecondsAfterFinished: 0 } })),
  ],
  ['namespace', own(['namespace'], apply(namespace), apply(configMap('one', 'team')), remove(namespace))],
  [
    'account',
    own(
      ['serviceaccount', 'root-ca-certificate-publisher'],
      apply(namespace),
      remove({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default', namespace: 'team' } }),
      remove(configMap('kube-root-ca.crt', 'team')),
    ),
  ],
  [
    'volumes',
    own(
      ['persistentvolume-binder', 'pvc-protection', 'pv-protection'],
      apply(volume),
      apply(claim),
      remove(claim),
      remove(volume),
    ),
  ],
  ['disruption', own(['disruption'], apply(budget), apply(deployment(2)), apply(deployment(1)), remove(budget))],
  ['resourcequota', own(['resourcequota'], apply(quota), apply(configMap('one')), remove(configMap('one')))],
  ...NODE_CONTROLLERS,
  ...ACCOUNT_CONTROLLERS,
  ...STORAGE_CONTROLLERS,
]);
