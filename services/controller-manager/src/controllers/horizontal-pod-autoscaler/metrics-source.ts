import type { KubeObject, ResourceRef } from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { milliValue, parseQuantity } from '@holdfast/machinery';
import { parseDuration } from '@holdfast/platform';
import { nameOf, timeOf } from '../../common/meta.ts';

/** The usage of one pod by container and resource, in thousandths. */
export interface PodUsage {
  readonly pod: string;
  readonly takenAtMs: number;
  readonly windowMs: number;
  readonly containers: readonly { readonly name: string; readonly usage: Readonly<Record<string, number>> }[];
}

/** The source of usage for autoscalers. */
export interface MetricsSource {
  /** Returns the usage of all measured pods of the namespace that match the selector (in text form). */
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
