import type { MetricRegistry } from '@holdfast/platform';
import type { VolumeUsage } from '../csi/port.ts';
import type { UsageByPod } from '../csi/volume-stats.ts';
import type { PodSample } from './port.ts';

interface ClaimUsage {
  readonly labels: string;
  readonly usage: VolumeUsage;
}

/** The volumes of claims, each once: pods of one node may share one. */
export function volumesOfClaims(pods: readonly PodSample[], mounted: UsageByPod): readonly ClaimUsage[] {
  const found = new Map<string, ClaimUsage>();
  for (const { pod } of pods) {
    const { namespace = '', uid = '' } = pod.metadata;
    for (const { claim, usage } of mounted.get(uid) ?? []) {
      const labels = `namespace="${namespace}",persistentvolumeclaim="${claim ?? ''}"`;
      if (claim !== undefined) found.set(labels, { labels, usage });
    }
  }
  return [...found.values()];
}

const METRICS: readonly (readonly [string, string, (usage: VolumeUsage) => number | undefined])[] = [
  ['capacity_bytes', 'Capacity in bytes of the volume', ({ capacityBytes }) => capacityBytes],
  ['available_bytes', 'Number of available bytes in the volume', ({ availableBytes }) => availableBytes],
  ['used_bytes', 'Number of used bytes in the volume', ({ usedBytes }) => usedBytes],
  ['inodes', 'Maximum number of inodes in the volume', ({ inodes }) => inodes?.total],
  ['inodes_free', 'Number of free inodes in the volume', ({ inodes }) => inodes?.free],
  ['inodes_used', 'Number of used inodes in the volume', ({ inodes }) => inodes?.used],
];

/** `kubelet_volume_stats_*`, as kubelets have them. */
export function addVolumeMetrics(registry: MetricRegistry, volumes: readonly ClaimUsage[]): void {
  for (const [name, help, read] of METRICS) {
    const lines = volumes.flatMap(({ labels, usage }) => {
      const found = read(usage);
      return found === undefined ? [] : [[labels, found] as const];
    });
    if (lines.length > 0) registry.gauge(`kubelet_volume_stats_${name}`, help, () => lines);
  }
}
