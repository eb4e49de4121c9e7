import {
  type CronJob,
  type DaemonSet,
  type Deployment,
  type HorizontalPodAutoscaler,
  type Job,
  type MetricSpec,
  NO_NODE_INFO,
  type Node,
  type Pod,
  type PodTemplateSpec,
  type ReplicaSet,
  type ReplicationController,
  type StatefulSet,
} from '@holdfast/api';

export const podTemplate = (labels: Record<string, string> = { app: 'web' }, image = 'web:1'): PodTemplateSpec => ({
  metadata: { labels },
  spec: { containers: [{ name: 'main', image, resources: {} }] },
});

export const replicaSet = (
  spec: Partial<ReplicaSet['spec']> = {},
  metadata: ReplicaSet['metadata'] = {},
): ReplicaSet => ({
  apiVersion: 'apps/v1',
  kind: 'ReplicaSet',
  metadata: { name: 'web', namespace: 'default', ...metadata },
  spec: { replicas: 3, selector: { matchLabels: { app: 'web' } }, template: podTemplate(), ...spec },
  status: { replicas: 0 },
});

export const replicationController = (spec: Partial<ReplicationController['spec']> = {}): ReplicationController => ({
  apiVersion: 'v1',
  kind: 'ReplicationController',
  metadata: { name: 'web', namespace: 'default' },
  spec: { replicas: 3, selector: { app: 'web' }, template: podTemplate(), ...spec },
  status: { replicas: 0 },
});

export const autoscaler = (
  spec: Partial<HorizontalPodAutoscaler['spec']> = {},
  metadata: HorizontalPodAutoscaler['metadata'] = {},
): HorizontalPodAutoscaler => ({
  apiVersion: 'autoscaling/v2',
  kind: 'HorizontalPodAutoscaler',
  metadata: { name: 'web', namespace: 'default', ...metadata },
  spec: {
    scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
    minReplicas: 1,
    maxReplicas: 10,
    metrics: [cpuTarget(50)],
    ...spec,
  },
  status: { desiredReplicas: 0, currentMetrics: null },
});

export const cpuTarget = (averageUtilization: number): MetricSpec => ({
  type: 'Resource',
  resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization } },
});

const JOB_LABELS = { 'batch.kubernetes.io/job-name': 'task' };

/** As the API server stores it: with all defaults. */
export const job = (spec: Partial<Job['spec']> = {}, metadata: Job['metadata'] = {}): Job => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name: 'task', namespace: 'default', ...metadata },
  spec: {
    parallelism: 1,
    completions: 1,
    backoffLimit: 6,
    completionMode: 'NonIndexed',
    suspend: false,
    podReplacementPolicy: 'TerminatingOrFailed',
    selector: { matchLabels: JOB_LABELS },
    ...spec,
    template: spec.template ?? jobTemplate(),
  },
  status: {},
});

export const jobTemplate = (restartPolicy = 'Never'): PodTemplateSpec => {
  const template = podTemplate(JOB_LABELS, 'task:1');
  return { ...template, spec: { ...template.spec, restartPolicy } };
};

export const cronJob = (spec: Partial<CronJob['spec']> = {}): CronJob => ({
  apiVersion: 'batch/v1',
  kind: 'CronJob',
  metadata: { name: 'tick', namespace: 'default' },
  spec: {
    schedule: '*/5 * * * *',
    concurrencyPolicy: 'Allow',
    suspend: false,
    successfulJobsHistoryLimit: 3,
    failedJobsHistoryLimit: 1,
    jobTemplate: { metadata: {}, spec: job().spec },
    ...spec,
  },
  status: {},
});

export const deployment = (
  spec: Partial<Deployment['spec']> = {},
  metadata: Deployment['metadata'] = {},
): Deployment => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'default', ...metadata },
  spec: {
    replicas: 3,
    selector: { matchLabels: { app: 'web' } },
    template: podTemplate(),
    strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: '25%', maxUnavailable: '25%' } },
    progressDeadlineSeconds: 600,
    revisionHistoryLimit: 10,
    ...spec,
  },
  status: {},
});

export const statefulSet = (
  spec: Partial<StatefulSet['spec']> = {},
  metadata: StatefulSet['metadata'] = {},
): StatefulSet => ({
  apiVersion: 'apps/v1',
  kind: 'StatefulSet',
  metadata: { name: 'db', namespace: 'default', ...metadata },
  spec: {
    replicas: 3,
    serviceName: 'db',
    selector: { matchLabels: { app: 'db' } },
    template: podTemplate({ app: 'db' }, 'db:1'),
    updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0 } },
    podManagementPolicy: 'OrderedReady',
    ...spec,
  },
  status: { replicas: 0 },
});

export const pod = (metadata: Pod['metadata'], status: Pod['status'] = {}, spec: Partial<Pod['spec']> = {}): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { namespace: 'default', ...metadata },
  spec: { containers: [{ name: 'main', image: 'web:1', resources: {} }], ...spec },
  status,
});

export const readyStatus = (since: string): Pod['status'] => ({
  phase: 'Running',
  conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: since }],
});

export const node = (
  name: string,
  options: {
    readonly ready?: string;
    readonly taints?: Node['spec']['taints'];
    readonly labels?: Record<string, string>;
  } = {},
): Node => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name, ...(options.labels === undefined ? {} : { labels: options.labels }) },
  spec: options.taints === undefined ? {} : { taints: options.taints },
  status: {
    conditions: [{ type: 'Ready', status: options.ready ?? 'True', reason: 'KubeletReady' }],
    daemonEndpoints: { kubeletEndpoint: { Port: 0 } },
    nodeInfo: { ...NO_NODE_INFO },
  },
});

export const daemonSet = (spec: Partial<DaemonSet['spec']> = {}): DaemonSet => ({
  apiVersion: 'apps/v1',
  kind: 'DaemonSet',
  metadata: { name: 'agent', namespace: 'default' },
  spec: {
    selector: { matchLabels: { app: 'agent' } },
    template: podTemplate({ app: 'agent' }, 'agent:1'),
    updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1, maxSurge: 0 } },
    ...spec,
  },
  status: { currentNumberScheduled: 0, desiredNumberScheduled: 0, numberMisscheduled: 0, numberReady: 0 },
});
