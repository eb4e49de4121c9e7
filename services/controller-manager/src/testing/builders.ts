import type { Deployment, Node, Pod, PodTemplateSpec, ReplicaSet, StatefulSet } from '@holdfast/api';

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
    nodeInfo: {
      architecture: '',
      bootID: '',
      containerRuntimeVersion: '',
      kernelVersion: '',
      kubeProxyVersion: '',
      kubeletVersion: '',
      machineID: '',
      operatingSystem: '',
      osImage: '',
      systemUUID: '',
    },
  },
});
