import type { ContainerRuntime } from '../runtime/port.ts';
import type { MachineProbe } from './node-stats.ts';
import type { DiskSample } from './port.ts';

/** The runtime's disk for images, which may be a separate one. Asks the runtime for its path until it responds once. */
export function createImageDisk(
  { images }: Pick<ContainerRuntime, 'images'>,
  machine: Pick<MachineProbe, 'room'> | undefined,
): () => Promise<DiskSample | undefined> {
  let directory: string | undefined;
  return async () => {
    if (images === undefined || machine === undefined) return undefined;
    directory ??= await images.directory().catch(() => undefined);
    return directory === undefined ? undefined : machine.room(directory);
  };
}
