import { existsSync, mkdirSync } from 'node:fs';
import { readdir, realpath, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { VolumeError } from '../domain/volume-files.ts';
import type { Owner } from '../domain/volume-owner.ts';
import { mountsBelow } from '../runtime/pod-directories.ts';
import { removeDirectory } from './remove-directory.ts';
import { makeEmptyDirectory } from './volume-directory.ts';

/**
 * The directories of local-path volumes on this node, each under the uid of its PersistentVolume. The server chooses
 * uids, so no client can name another directory.
 */
export interface NodeVolumeDirectories {
  /** Makes the directory if it is missing. A directory that exists keeps its files, owner and mode. */
  make(uid: string, owner: Owner | undefined): Promise<string>;
  /**
   * Removes the directory with its files. Rejects while anything is mounted in it, and soon after `signal` aborts: the
   * next removal continues.
   */
  remove(uid: string, signal?: AbortSignal): Promise<void>;
  /** Removes all of them, for a cluster that forgets its objects. */
  removeAll(): Promise<void>;
}

const UID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** No uid has this prefix: what is left of a removal that was interrupted. */
const REMOVED = 'removed-';

/** `root`: only this node changes anything there. */
export function createNodeVolumeDirectories(root: string): NodeVolumeDirectories {
  return {
    make: async (uid, owner) => {
      const path = pathOf(root, uid);
      mkdirSync(root, { recursive: true, mode: 0o700 });
      await makeEmptyDirectory(path, owner);
      return path;
    },
    remove: async (uid, signal) => {
      pathOf(root, uid);
      if (!existsSync(root)) return;
      // The kernel lists mounts by their real paths.
      const real = await realpath(root);
      const [path, removed] = [pathOf(real, uid), join(real, `${REMOVED}${uid}`)];
      await removeTree(removed, signal);
      refuseMounted(path);
      // Under another name first: a removal that is interrupted never leaves a volume with some of its files.
      if (existsSync(path)) await rename(path, removed);
      await removeTree(removed, signal);
      await removeRest(real, signal);
    },
    removeAll: async () => {
      if (!existsSync(root)) return;
      await removeTree(await realpath(root));
    },
  };
}

function refuseMounted(path: string): void {
  const [mounted] = mountsBelow(path);
  if (mounted === undefined) return;
  throw new VolumeError(`${mounted.target} is still mounted: the files of the volume are kept until it is not`);
}

/** Removing through a mount would remove what is mounted. */
async function removeTree(path: string, signal?: AbortSignal): Promise<void> {
  refuseMounted(path);
  await removeDirectory(path, signal);
}

/** Of other volumes: what cannot be removed must not hold up this one. */
async function removeRest(root: string, signal: AbortSignal | undefined): Promise<void> {
  const rest = (await readdir(root)).filter((name) => name.startsWith(REMOVED));
  await Promise.allSettled(rest.map((name) => removeTree(join(root, name), signal)));
}

function pathOf(root: string, uid: string): string {
  if (!UID.test(uid)) throw new VolumeError(`${JSON.stringify(uid)} is not the uid of a volume`);
  return join(root, uid);
}
