import type { Pod } from '@holdfast/api';

/** The usage of a node and its pods at one time. Unmeasured values are absent, never zero. */
export interface NodeSample {
  /** Wall clock. */
  readonly at: number;
  readonly machine: MachineSample;
  readonly pods: readonly PodSample[];
}

export interface MachineSample {
  /** All cores together, since boot. */
  readonly cpuNanoseconds?: number;
  readonly bootedAt?: number;
  readonly memory?: MemorySample;
  /** The file system of pods and logs. */
  readonly nodeFs?: DiskSample;
  /** The file system of images, when it is another one. */
  readonly imageFs?: DiskSample;
  readonly processes?: { readonly running: number; readonly max: number };
}

export interface MemorySample {
  readonly capacityBytes: number;
  readonly availableBytes: number;
}

export interface DiskSample {
  readonly capacityBytes: number;
  readonly availableBytes: number;
  readonly inodes: number;
  readonly inodesFree: number;
}

export interface PodSample {
  readonly pod: Pod;
  readonly containers: readonly ContainerSample[];
  /** By volume name, for volumes on this node's disk that end with the pod. */
  readonly volumes: Readonly<Record<string, DiskUse>>;
  /** Files of the node that containers may write to, such as `/etc/hosts`. */
  readonly nodeFiles?: DiskUse;
  readonly processes?: number;
}

export interface ContainerSample {
  readonly name: string;
  readonly startedAt?: number;
  /** Since its start. */
  readonly cpuNanoseconds?: number;
  readonly memoryBytes?: number;
  readonly logs?: DiskUse;
}

export interface DiskUse {
  readonly bytes: number;
  readonly inodes: number;
}

/** The source of samples: the machine and the runtime, or a test script. */
export interface NodeStats {
  /** `disk`: also walks what pods wrote, which costs by the number of their files. */
  sample(wanted: { readonly disk: boolean }): Promise<NodeSample>;
}

export const podMemory = ({ containers }: PodSample): number | undefined =>
  sumOf(containers.map(({ memoryBytes }) => memoryBytes));

export const podCpu = ({ containers }: PodSample): number | undefined =>
  sumOf(containers.map(({ cpuNanoseconds }) => cpuNanoseconds));

/** Logs, volumes and files of the node; `undefined` when unmeasured. */
export function podDisk({ containers, volumes, nodeFiles }: PodSample): DiskUse | undefined {
  const logs = containers.flatMap((each) => each.logs ?? []);
  const parts = [...logs, ...Object.values(volumes), ...(nodeFiles === undefined ? [] : [nodeFiles])];
  if (parts.length === 0) return undefined;
  return {
    bytes: parts.reduce((sum, { bytes }) => sum + bytes, 0),
    inodes: parts.reduce((sum, { inodes }) => sum + inodes, 0),
  };
}

function sumOf(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((each) => each !== undefined);
  return known.length === 0 ? undefined : known.reduce((sum, each) => sum + each, 0);
}
