import type { ApiResponse } from '@holdfast/client';
import { MetricRegistry } from '@holdfast/platform';
import type { UsageByPod } from '../csi/volume-stats.ts';
import { createCpuRates } from './cpu-rates.ts';
import { containerMetrics, resourceMetrics } from './metrics-text.ts';
import type { NodeSample, NodeStats } from './port.ts';
import { statsSummary } from './summary.ts';
import { addVolumeMetrics, volumesOfClaims } from './volume-metrics.ts';

export interface StatsRoutesDeps {
  readonly nodeName: string;
  readonly cores: number;
  readonly stats: NodeStats;
  /** The number of evicted pods by signal. */
  readonly evictions: () => ReadonlyMap<string, number>;
  /** Volumes that drivers mounted. Absent: the node has no drivers. */
  readonly volumes?: () => Promise<UsageByPod>;
  /** In Prometheus text format. */
  readonly probes: () => string;
  /** The same. */
  readonly relists: () => string;
}

/** Paths below `/stats` and `/metrics`; `undefined`: another path. */
export type StatsRoutes = (path: string, query: URLSearchParams) => Promise<ApiResponse | undefined>;

/** The node's statistics under the paths and names of kubelets. */
export function createStatsRoutes({
  nodeName,
  cores,
  stats,
  evictions,
  probes,
  relists,
  volumes,
}: StatsRoutesDeps): StatsRoutes {
  const rates = createCpuRates();
  const look = async (disk: boolean): Promise<NodeSample> => {
    const sample = await stats.sample({ disk });
    rates.observe(sample);
    return sample;
  };
  return async (path, query) => {
    switch (path) {
      case '/stats/summary': {
        const isWhole = query.get('only_cpu_and_memory') !== 'true';
        const sample = await look(isWhole);
        return json(statsSummary(nodeName, sample, { rates, mounted: isWhole ? await volumes?.() : undefined }));
      }
      case '/metrics/resource':
        return text(resourceMetrics(await look(false)));
      case '/metrics/cadvisor':
        return text(containerMetrics(await look(false), cores));
      case '/metrics/probes':
        return text(probes());
      case '/metrics':
        return text(
          kubeletMetrics(nodeName, await look(false), { evictions: evictions(), mounted: await volumes?.() }) +
            relists(),
        );
      default:
        return undefined;
    }
  };
}

function kubeletMetrics(
  node: string,
  { pods }: NodeSample,
  { evictions, mounted }: { readonly evictions: ReadonlyMap<string, number>; readonly mounted: UsageByPod | undefined },
): string {
  const registry = new MetricRegistry();
  const containers = pods.reduce((sum, pod) => sum + pod.containers.length, 0);
  registry.gauge('kubelet_node_name', "The node's name. The count is always 1.", () => [[`node="${node}"`, 1]]);
  registry.gauge('kubelet_running_pods', 'Number of pods that have a running pod sandbox', () => [['', pods.length]]);
  registry.gauge('kubelet_running_containers', 'Number of containers currently running', () => [
    ['container_state="running"', containers],
  ]);
  const counted = registry.counter('kubelet_evictions', 'Cumulative number of pod evictions by eviction signal', [
    'eviction_signal',
  ]);
  for (const [signal, count] of evictions) counted.add([signal], count);
  if (mounted !== undefined) addVolumeMetrics(registry, volumesOfClaims(pods, mounted));
  return registry.render();
}

const PROMETHEUS = 'text/plain; version=0.0.4; charset=utf-8';

const text = (content: string): ApiResponse => ({
  status: 200,
  headers: { 'content-type': PROMETHEUS },
  body: { kind: 'text', contentType: PROMETHEUS, text: content },
});

const json = (value: unknown): ApiResponse => ({
  status: 200,
  headers: { 'content-type': 'application/json' },
  body: { kind: 'json', bytes: () => Buffer.from(JSON.stringify(value)), value: () => value },
});
