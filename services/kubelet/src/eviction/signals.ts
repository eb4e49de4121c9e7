import type { NodeSample } from '../stats/port.ts';
import { podMemory } from '../stats/port.ts';

export type Signal =
  | 'memory.available'
  | 'allocatableMemory.available'
  | 'nodefs.available'
  | 'nodefs.inodesFree'
  | 'imagefs.available'
  | 'imagefs.inodesFree'
  | 'pid.available';

export type PressureCondition = 'MemoryPressure' | 'DiskPressure' | 'PIDPressure';

/** The exhausted resource of a signal, as events and annotations name it. */
export type StarvedResource = 'memory' | 'ephemeral-storage' | 'inodes' | 'pids';

export interface SignalMeaning {
  readonly condition: PressureCondition;
  readonly resource: StarvedResource;
}

export const SIGNALS: Readonly<Record<Signal, SignalMeaning>> = {
  'memory.available': { condition: 'MemoryPressure', resource: 'memory' },
  'allocatableMemory.available': { condition: 'MemoryPressure', resource: 'memory' },
  'nodefs.available': { condition: 'DiskPressure', resource: 'ephemeral-storage' },
  'nodefs.inodesFree': { condition: 'DiskPressure', resource: 'inodes' },
  'imagefs.available': { condition: 'DiskPressure', resource: 'ephemeral-storage' },
  'imagefs.inodesFree': { condition: 'DiskPressure', resource: 'inodes' },
  'pid.available': { condition: 'PIDPressure', resource: 'pids' },
};

export const isSignal = (text: string): text is Signal => text in SIGNALS;

export interface Measure {
  readonly available: number;
  readonly capacity: number;
}

export type Measures = Readonly<Partial<Record<Signal, Measure>>>;

/** A signal without a measurement is absent: it is never met. */
export function measuresOf({ machine, pods }: NodeSample, allocatableMemory: number | undefined): Measures {
  const { memory, nodeFs, imageFs = nodeFs, processes } = machine;
  return {
    ...(memory === undefined
      ? {}
      : { 'memory.available': { available: memory.availableBytes, capacity: memory.capacityBytes } }),
    ...(allocatableMemory === undefined
      ? {}
      : {
          'allocatableMemory.available': {
            available: allocatableMemory - pods.reduce((sum, pod) => sum + (podMemory(pod) ?? 0), 0),
            capacity: allocatableMemory,
          },
        }),
    ...(nodeFs === undefined
      ? {}
      : {
          'nodefs.available': { available: nodeFs.availableBytes, capacity: nodeFs.capacityBytes },
          'nodefs.inodesFree': { available: nodeFs.inodesFree, capacity: nodeFs.inodes },
        }),
    ...(imageFs === undefined
      ? {}
      : {
          'imagefs.available': { available: imageFs.availableBytes, capacity: imageFs.capacityBytes },
          'imagefs.inodesFree': { available: imageFs.inodesFree, capacity: imageFs.inodes },
        }),
    ...(processes === undefined
      ? {}
      : { 'pid.available': { available: processes.max - processes.running, capacity: processes.max } }),
  };
}
