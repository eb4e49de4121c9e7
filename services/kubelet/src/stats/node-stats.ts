import type { Pod } from '@holdfast/api';
import type { Clock } from '@holdfast/platform';
import { nodeFilesOf } from '../runtime/pod-directories.ts';
import type { ContainerRuntime, ContainerStatus, ContainerUsage, SandboxStatus } from '../runtime/port.ts';
import { createImageDisk } from './image-disk.ts';
import type { ContainerSample, DiskSample, DiskUse, MachineSample, NodeStats, PodSample } from './port.ts';

export interface NodeStatsDeps {
  readonly runtime: ContainerRuntime;
  readonly clock: Clock;
  /** The pods that have something here. */
  readonly pods: () => readonly Pod[];
  /** The machine itself; absent when it is not measured. */
  readonly machine?: MachineProbe | undefined;
}

export interface MachineProbe {
  sample(): MachineSample;
  /** The file system of a path; `undefined` when the path does not exist. */
  room(path: string): DiskSample | undefined;
  /** The disk usage of a file or directory tree; nothing when it does not exist. */
  diskUse(path: string): Promise<DiskUse>;
}

/** Combines data of machine and runtime by pod. */
export function createNodeStats({ runtime, clock, pods, machine }: NodeStatsDeps): NodeStats {
  const imageDisk = createImageDisk(runtime, machine);
  return {
    sample: async ({ disk }) => {
      const [sandboxes, usage, imageFs] = await Promise.all([runtime.list(), runtime.usage?.() ?? [], imageDisk()]);
      const walk = disk ? machine : undefined;
      const samples = pods().map(async (pod) => {
        const { uid } = pod.metadata;
        const of = sandboxes.findLast(({ config }) => config.podUid === uid);
        const used = usage.filter(({ podUid }) => podUid === uid);
        return of === undefined ? unmeasured(pod) : samplePod(pod, { sandbox: of, used, walk });
      });
      const measured = { ...machine?.sample(), ...(imageFs === undefined ? {} : { imageFs }) };
      return { at: clock.now(), machine: measured, pods: await Promise.all(samples) };
    },
  };
}

const unmeasured = (pod: Pod): PodSample => ({ pod, containers: [], volumes: {} });

interface Measured {
  readonly sandbox: SandboxStatus;
  readonly used: readonly ContainerUsage[];
  /** Absent: file usage is not measured. */
  readonly walk: MachineProbe | undefined;
}

async function samplePod(pod: Pod, { sandbox, used, walk }: Measured): Promise<PodSample> {
  const running = sandbox.containers.filter(({ state }) => state === 'running');
  const containers = await Promise.all(running.map((each) => sampleContainer(each, used, walk)));
  const { volumesPath } = sandbox;
  const nodeFiles = volumesPath === undefined ? undefined : await walk?.diskUse(nodeFilesOf(volumesPath));
  const processes = used.map(({ processes: count }) => count).filter((count) => count !== undefined);
  return {
    pod,
    containers,
    volumes: await volumesOf(pod, sandbox, walk),
    ...(nodeFiles === undefined ? {} : { nodeFiles }),
    ...(processes.length === 0 ? {} : { processes: processes.reduce((sum, count) => sum + count, 0) }),
  };
}

async function sampleContainer(
  { config, startedAt, logPath }: ContainerStatus,
  used: readonly ContainerUsage[],
  walk: MachineProbe | undefined,
): Promise<ContainerSample> {
  const usage = used.find(({ container }) => container === config.name);
  const logs = logPath === undefined ? undefined : await walk?.diskUse(logPath);
  return {
    name: config.name,
    ...(startedAt === undefined ? {} : { startedAt }),
    ...(usage === undefined ? {} : { cpuNanoseconds: usage.cpuNanoseconds, memoryBytes: usage.memoryBytes }),
    ...(logs === undefined ? {} : { logs }),
  };
}

/** Only what lies on the disk of the node and is the pod's alone. */
async function volumesOf(
  { spec }: Pod,
  { volumesPath }: SandboxStatus,
  walk: MachineProbe | undefined,
): Promise<Readonly<Record<string, DiskUse>>> {
  if (walk === undefined || volumesPath === undefined) return {};
  const own = (spec.volumes ?? []).filter(({ emptyDir }) => emptyDir !== undefined && emptyDir.medium !== 'Memory');
  const uses = own.map(async ({ name }) => [name, await walk.diskUse(`${volumesPath}/${name}`)] as const);
  return Object.fromEntries(await Promise.all(uses));
}
