import { readWorkload, type Workload } from '@holdfast/cluster/explore';

/** One of our own controllers, or a few that work together, and what users do meanwhile. */
export interface OwnControllers {
  readonly controllers: readonly string[];
  readonly workload: Workload;
}

const labels = { app: 'web' };
const at = (name: string) => ({ name, namespace: 'default' });
const pods = (command: readonly string[] = [], env = '1') => ({
  metadata: { labels },
  spec: {
    terminationGracePeriodSeconds: 0,
    containers: [{ name: 'main', image: 'app', command, env: [{ name: 'GENERATION', value: env }] }],
  },
});

const deployment = (replicas: number, env = '1') => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: at('web'),
  spec: { replicas, selector: { matchLabels: labels }, template: pods([], env) },
});

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

const apply = (object: object) => ({ apply: object });
const remove = (object: object) => ({ delete: object });
const own = (controllers: readonly string[], ...steps: readonly object[]): OwnControllers => ({
  controllers,
  workload: readWorkload({ steps }),
});

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
]);
