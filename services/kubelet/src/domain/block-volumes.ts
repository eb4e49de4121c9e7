import type { PersistentVolume, Pod } from '@holdfast/api';
import { VolumeError } from './volume-files.ts';

/** Upstream's order: what the containers ask for is compared with the mode of the volume. */
export function refuseOtherUse(pod: Pod, name: string, { spec }: PersistentVolume): void {
  const { volumeMode = 'Filesystem' } = spec;
  const uses = usesOf(pod);
  if (uses.mounted.has(name) && volumeMode !== 'Filesystem')
    throw new VolumeError(`volume ${name} has volumeMode ${volumeMode}, but is specified in volumeMounts`);
  if (uses.asDevice.has(name) && volumeMode !== 'Block')
    throw new VolumeError(`volume ${name} has volumeMode ${volumeMode}, but is specified in volumeDevices`);
}

/** The names of volumes that containers of the pod mount, and those that they see as devices. */
export function usesOf({ spec }: Pod): {
  readonly mounted: ReadonlySet<string>;
  readonly asDevice: ReadonlySet<string>;
} {
  const containers = [...spec.containers, ...(spec.initContainers ?? []), ...(spec.ephemeralContainers ?? [])];
  return {
    mounted: new Set(containers.flatMap(({ volumeMounts = [] }) => volumeMounts.map(({ name }) => name))),
    asDevice: new Set(containers.flatMap(({ volumeDevices = [] }) => volumeDevices.map(({ name }) => name))),
  };
}

export const isBlock = ({ spec }: PersistentVolume): boolean => spec.volumeMode === 'Block';
