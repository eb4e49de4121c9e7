import { formatTime } from '@holdfast/platform';
import type { PodVolumeUsage } from '../csi/port.ts';
import type { UsageByPod } from '../csi/volume-stats.ts';
import { type CpuRates, containerKey, MACHINE } from './cpu-rates.ts';
import {
  type ContainerSample,
  type DiskSample,
  type DiskUse,
  type NodeSample,
  type PodSample,
  podDisk,
} from './port.ts';

/** The answer to `/stats/summary`, in the fields that clients of kubelets know. */
export function statsSummary(
  nodeName: string,
  sample: NodeSample,
  { rates, mounted }: { readonly rates: CpuRates; readonly mounted?: UsageByPod | undefined },
): unknown {
  const { machine, pods } = sample;
  const time = formatTime(sample.at);
  const imageFs = machine.imageFs ?? machine.nodeFs;
  return {
    node: {
      nodeName,
      ...(machine.bootedAt === undefined ? {} : { startTime: formatTime(machine.bootedAt) }),
      ...cpuOf({ time, cpuNanoseconds: machine.cpuNanoseconds, rate: rates.rate(MACHINE) }),
      ...machineMemory(sample),
      ...(machine.nodeFs === undefined ? {} : { fs: fileSystem(time, machine.nodeFs) }),
      ...(imageFs === undefined ? {} : { runtime: { imageFs: fileSystem(time, imageFs) } }),
      ...(machine.processes === undefined
        ? {}
        : { rlimit: { time, maxpid: machine.processes.max, curproc: machine.processes.running } }),
    },
    pods: pods.map((each) =>
      podSummary(time, each, { rates, mounted: mounted?.get(each.pod.metadata.uid ?? '') ?? [] }),
    ),
  };
}

function podSummary(
  time: string,
  sample: PodSample,
  { rates, mounted }: { readonly rates: CpuRates; readonly mounted: readonly PodVolumeUsage[] },
): unknown {
  const { pod, containers, volumes, processes } = sample;
  const { name, namespace, uid = '' } = pod.metadata;
  const rateOf = (container: ContainerSample): number | undefined => rates.rate(containerKey(uid, container.name));
  const cpu = { time, cpuNanoseconds: sum(containers, (each) => each.cpuNanoseconds), rate: sum(containers, rateOf) };
  const disk = podDisk(sample);
  return {
    podRef: { name, namespace, uid },
    ...(pod.status.startTime === undefined ? {} : { startTime: pod.status.startTime }),
    containers: containers.map((each) => ({
      name: each.name,
      ...(each.startedAt === undefined ? {} : { startTime: formatTime(each.startedAt) }),
      ...cpuOf({ time, cpuNanoseconds: each.cpuNanoseconds, rate: rateOf(each) }),
      ...memoryOf(time, each.memoryBytes),
      ...(each.logs === undefined ? {} : { logs: used(time, each.logs) }),
    })),
    ...cpuOf(cpu),
    ...memoryOf(
      time,
      sum(containers, (each) => each.memoryBytes),
    ),
    ...volumesOf(time, volumes, mountedOf(time, namespace, mounted)),
    ...(disk === undefined ? {} : { 'ephemeral-storage': used(time, disk) }),
    ...(processes === undefined ? {} : { process_stats: { process_count: processes } }),
  };
}

function machineMemory({ at, machine: { memory } }: NodeSample): object {
  if (memory === undefined) return {};
  const { capacityBytes, availableBytes } = memory;
  const usageBytes = capacityBytes - availableBytes;
  return { memory: { time: formatTime(at), availableBytes, usageBytes, workingSetBytes: usageBytes } };
}

function volumesOf(time: string, volumes: Readonly<Record<string, DiskUse>>, mounted: readonly object[]): object {
  const entries = [...Object.entries(volumes).map(([name, use]) => ({ ...used(time, use), name })), ...mounted];
  return entries.length === 0 ? {} : { volume: entries };
}

/** Volumes with a capacity of their own. */
const mountedOf = (
  time: string,
  namespace: string | undefined,
  mounted: readonly PodVolumeUsage[],
): readonly object[] =>
  mounted.map(({ name, claim, usage: { inodes, ...bytes } }) => ({
    time,
    ...bytes,
    ...(inodes === undefined ? {} : { inodes: inodes.total, inodesUsed: inodes.used, inodesFree: inodes.free }),
    name,
    ...(claim === undefined ? {} : { pvcRef: { name: claim, namespace } }),
  }));

function cpuOf({ time, cpuNanoseconds, rate }: Cpu): object {
  if (cpuNanoseconds === undefined) return {};
  const usageNanoCores = rate === undefined ? {} : { usageNanoCores: rate };
  return { cpu: { time, ...usageNanoCores, usageCoreNanoSeconds: cpuNanoseconds } };
}

interface Cpu {
  readonly time: string;
  readonly cpuNanoseconds: number | undefined;
  readonly rate: number | undefined;
}

const memoryOf = (time: string, bytes: number | undefined): object =>
  bytes === undefined ? {} : { memory: { time, usageBytes: bytes, workingSetBytes: bytes } };

const used = (time: string, { bytes, inodes }: DiskUse): object => ({ time, usedBytes: bytes, inodesUsed: inodes });

function fileSystem(time: string, { capacityBytes, availableBytes, inodes, inodesFree }: DiskSample): object {
  const usedBytes = capacityBytes - availableBytes;
  return { time, availableBytes, capacityBytes, usedBytes, inodesFree, inodes, inodesUsed: inodes - inodesFree };
}

function sum<T>(items: readonly T[], read: (item: T) => number | undefined): number | undefined {
  const known = items.map(read).filter((each) => each !== undefined);
  return known.length === 0 ? undefined : known.reduce((total, each) => total + each, 0);
}
