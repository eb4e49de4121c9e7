import type { KubeObject, ResourceRef } from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { milliValue, parseQuantity } from '@holdfast/machinery';
import { parseDuration } from '@holdfast/platform';
import { nameOf, timeOf } from '../../common/meta.ts';

/** What one pod used, by container and resource, in thousandths. */
export interface PodUsage {
  readonly pod: string;
  readonly takenAtMs: number;
  readonly windowMs: number;
  readonly containers: readonly { readonly name: string; readonly usage: Readonly<Record<string, number>> }[];
}

/** Where autoscalers learn what pods use. */
export interface MetricsSource {
  /** Of all pods of the namespace that the selector (in its text form) matches and that were measured. */
  podUsage(namespace: string, selector: string): Promise<readonly PodUsage[]>;
}

interface PodMetrics extends KubeObject {
  readonly timestamp: string;
  readonly window: string;
  readonly containers: readonly { readonly name: string; readonly usage: Readonly<Record<string, string>> }[];
}

const POD_METRICS: ResourceRef<PodMetrics> = {
  group: 'metrics.k8s.io',
  version: 'v1beta1',
  kind: 'PodMetrics',
  plural: 'pods',
  namespaced: true,
};

/** The resource metrics API, which the API servers of this cluster answer themselves. */
export const createApiMetrics = (client: ApiClient): MetricsSource => ({
  podUsage: async (namespace, labelSelector) =>
    (await client.list(POD_METRICS, { namespace, labelSelector })).items.map(usageOf),
});

const usageOf = (metrics: PodMetrics): PodUsage => ({
  pod: nameOf(metrics),
  takenAtMs: timeOf(metrics.timestamp),
  windowMs: parseDuration(metrics.window) ?? 0,
  containers: metrics.containers.map(({ name, usage }) => ({
    name,
    usage: Object.fromEntries(Object.entries(usage).map(([key, text]) => [key, milliValue(parseQuantity(text))])),
  })),
});
