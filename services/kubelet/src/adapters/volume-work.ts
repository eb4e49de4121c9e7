import { platform } from 'node:os';
import type { Owner } from '../domain/volume-owner.ts';
import { type BlockDevice, findDevice } from './block-device.ts';
import { findByName, openSubPath } from './sub-path.ts';
import { adoptDirectory, useHostPath } from './volume-directory.ts';
import { type GroupOptions, giveGroup } from './volume-group.ts';

export interface SubPathRequest {
  readonly volume: string;
  readonly subPath: string;
  /** A volume that pods write gets missing directories made. */
  readonly make: boolean;
  /** The place is made to appear here, at a path that only the node changes. */
  readonly target?: string | undefined;
}

export interface FoundSubPath {
  /** Real paths without links. */
  readonly path: string;
  readonly volume: string;
  readonly isDirectory: boolean;
  /** It appears at the target that was asked for. */
  readonly isBound: boolean;
}

/** What the kubelet itself does in volumes. Their file systems may be those of a server that never answers. */
export interface VolumeWork {
  useHostPath(path: string, type: string, owner?: Owner): Promise<void>;
  adoptDirectory(path: string, owner: Owner): Promise<boolean>;
  giveGroup(path: string, options: GroupOptions): Promise<void>;
  findSubPath(request: SubPathRequest): Promise<FoundSubPath>;
  findDevice(path: string): Promise<BlockDevice>;
}

/** In this very process: for file systems of this machine, which answer. */
export const localVolumeWork: VolumeWork = { useHostPath, adoptDirectory, giveGroup, findSubPath, findDevice };

async function findSubPath({ volume, subPath, make, target }: SubPathRequest): Promise<FoundSubPath> {
  if (platform() !== 'linux') return { ...(await findByName(volume, subPath, { make })), isBound: false };
  const opened = await openSubPath(volume, subPath, { make });
  try {
    if (target !== undefined) await opened.bindTo(target);
    return { path: opened.path, volume: opened.volume, isDirectory: opened.isDirectory, isBound: target !== undefined };
  } finally {
    opened.close();
  }
}
