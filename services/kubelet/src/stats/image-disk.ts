import type { ContainerRuntime } from '../runtime/port.ts';
import type { MachineProbe } from './node-stats.ts';
import type { DiskSample } from './port.ts';

/** Where the runtime keeps its images, which may be a disk of its own. It is asked for the place until it answered once. */
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
