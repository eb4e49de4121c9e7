import {
  DEPLOYMENTS,
  type Deployment,
  type Pod,
  type PodTemplateSpec,
  STATEFUL_SETS,
  type StatefulSet,
} from '@holdfast/api';
import { type ApiClient } from '@holdfast/client';

/** Pods take their time to end: a death that is confirmed too early leaves a window in which two may live. */
const TIME_TO_STOP_SECONDS = '8';

/** A StatefulSet `db` and a Deployment `web`, both with `replicas` pods that run until they are stopped. */
export async function createWorkloads(client: ApiClient, replicas: number): Promise<void> {
  await client.create<StatefulSet>(STATEFUL_SETS, {
    status: { replicas: 0 },
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: 'db', namespace: 'default' },
    spec: {
      replicas,
      serviceName: 'db',
      updateStrategy: {},
      selector: { matchLabels: { app: 'db' } },
      template: templateOf('db'),
    },
  });
  await client.create<Deployment>(DEPLOYMENTS, {
    status: {},
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', namespace: 'default' },
    spec: { replicas, strategy: {}, selector: { matchLabels: { app: 'web' } }, template: templateOf('web') },
  });
}

/** A pod on a node that its creator has chosen. */
export function podThatStops(metadata: { readonly namespace: string; readonly name: string }, nodeName: string): Pod {
  return { apiVersion: 'v1', kind: 'Pod', metadata, spec: { ...templateOf(metadata.name).spec, nodeName }, status: {} };
}

function templateOf(app: string): PodTemplateSpec {
  return {
    metadata: { labels: { app } },
    spec: {
      containers: [{ name: 'main', image: 'busybox', command: ['stop-after', TIME_TO_STOP_SECONDS], resources: {} }],
    },
  };
}

export const appOf = (pod: Pod): string => pod.metadata.labels?.['app'] ?? '';

export const isReady = (pod: Pod): boolean =>
  pod.metadata.deletionTimestamp === undefined &&
  (pod.status?.conditions ?? []).some((condition) => condition.type === 'Ready' && condition.status === 'True');
