import type { PodFiles } from './pod-files.ts';
import type { ContainerRuntime, RuntimeAbilities, SandboxStatus } from './port.ts';

/** Parts of every runtime whose containers another service runs. */

/** Volumes in memory are mounted by the kubelet, which needs root for it. */
export function engineAbilities(): RuntimeAbilities {
  const common = { mounts: true, devices: true, user: 'any', isolation: true } as const;
  return process.getuid?.() === 0 ? { ...common, memoryVolumes: true } : common;
}

export interface Listing {
  list(podUid: string | undefined): Promise<readonly SandboxStatus[]>;
}

/** The first look at all pods also removes the files of those that are gone: it is before any pod is begun. */
export function listingWithSweep(listing: Listing, files: PodFiles): ContainerRuntime['list'] {
  let isSwept = false;
  return async (filter) => {
    if (filter?.podUid !== undefined) return listing.list(filter.podUid);
    const all = await listing.list(undefined);
    if (!isSwept) files.sweep(new Set(all.map(({ config }) => config.podUid)));
    isSwept = true;
    return all;
  };
}

/** The scheme of the runtime's container ids; `guess` while the runtime does not respond. */
export async function schemeOf(runtime: ContainerRuntime, guess: string): Promise<string> {
  const version = await runtime.version().catch(() => '');
  const [name = ''] = version.split('://');
  return name === '' ? guess : name;
}
