import { constants, type Stats } from 'node:fs';
import { type FileHandle, lchown, open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { VolumeError } from '../domain/volume-files.ts';
import { VOLUME_DEPTH_MAX } from '../limits.ts';
import { descriptorPath } from '../runtime/beneath.ts';

export interface GroupOptions {
  readonly gid: number;
  /** `OnRootMismatch`: nothing is changed when the top directory has the group. It is changed last. */
  readonly policy: string | undefined;
}

/** `chown` leaves it as it is. */
const SAME = -1;
const FILE_MODE = 0o660;
/** New files in it get its group. */
const DIRECTORY_MODE = 0o2770;
const PERMISSIONS = 0o7777;
const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = constants;

/**
 * Gives all files of a volume to the group of a pod (`fsGroup`), which may read and write them then. Another pod may
 * rename files of the volume meanwhile: everything is changed through an open descriptor, and no link is followed.
 */
export async function giveGroup(volume: string, options: GroupOptions): Promise<void> {
  const top = await open(volume, O_RDONLY | O_DIRECTORY);
  try {
    if (options.policy === 'OnRootMismatch' && hasGroup(await top.stat(), options.gid)) return;
    await giveBelow(top, options.gid, 1);
    await give(top, options.gid);
  } finally {
    await top.close();
  }
}

const hasGroup = ({ gid, mode }: Stats, wanted: number): boolean =>
  gid === wanted && (mode & DIRECTORY_MODE) === DIRECTORY_MODE;

async function giveBelow(directory: FileHandle, gid: number, depth: number): Promise<void> {
  if (depth > VOLUME_DEPTH_MAX) throw new VolumeError(`fsGroup: the volume is deeper than ${VOLUME_DEPTH_MAX} folders`);
  for (const entry of await readdir(descriptorPath(directory.fd), { withFileTypes: true })) {
    const path = join(descriptorPath(directory.fd), entry.name);
    if (entry.isFile() || entry.isDirectory()) await giveOne(path, gid, depth);
    else await unlessMoved(() => lchown(path, SAME, gid));
  }
}

async function giveOne(path: string, gid: number, depth: number): Promise<void> {
  const file = await unlessMoved(() => open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
  if (file === undefined) return;
  try {
    if ((await file.stat()).isDirectory()) await giveBelow(file, gid, depth + 1);
    await give(file, gid);
  } finally {
    await file.close();
  }
}

async function give(file: FileHandle, gid: number): Promise<void> {
  const found = await file.stat();
  if (!found.isFile() && !found.isDirectory()) return;
  const mode = (found.mode & PERMISSIONS) | (found.isDirectory() ? DIRECTORY_MODE : FILE_MODE);
  if (found.gid !== gid) await file.chown(found.uid, gid);
  if (mode !== (found.mode & PERMISSIONS)) await file.chmod(mode);
}

/** What was removed, or became a link, since the directory was read. */
async function unlessMoved<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ENOENT' || code === 'ELOOP' || code === 'ENXIO') return undefined;
    throw error;
  }
}
