import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmod,
  chown,
  lstat,
  mkdir,
  readdir,
  readlink,
  realpath,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { describeError } from '@holdfast/platform';
import { VolumeError, type VolumeFile } from '../domain/volume-files.ts';
import { type Owner, ownedFileMode, tokenFileMode } from '../domain/volume-owner.ts';
import { MOUNT_MS } from '../limits.ts';
import { HELPER_ENVIRONMENT, helper } from '../runtime/helpers.ts';
import { MEMORY_VOLUME } from '../runtime/pod-directories.ts';

/** All containers of the pod write here under any user. */
const SHARED_MODE = 0o777;
const INHERIT_GROUP = 0o2000;
const DATA = '..data';

/** Once, and whole: what its pod makes of its mode and its owner later stays. No volume has a point in its name. */
export async function makeEmptyDirectory(path: string, owner?: Owner): Promise<void> {
  if (await exists(path)) return;
  const begun = `${path}.new`;
  await makeShared(begun);
  await giveDirectory(begun, owner);
  await rename(begun, path);
}

async function makeShared(path: string): Promise<void> {
  await mkdir(path, { recursive: true });
  await chmod(path, SHARED_MODE);
}

/** New files in it belong to its group, where the pod names one. */
async function giveDirectory(path: string, owner: Owner | undefined): Promise<void> {
  if (owner === undefined) return;
  await chown(path, owner.uid, owner.gid);
  if (owner.group) await chmod(path, SHARED_MODE | INHERIT_GROUP);
}

/** The same in memory, at most this many bytes (0: as many as there are). Mounted once; what is in it stays. */
export async function makeMemoryDirectory(path: string, maxBytes: number, owner?: Owner): Promise<void> {
  await mkdir(path, { recursive: true });
  if (await isMounted(path)) return;
  const size = maxBytes === 0 ? '' : `,size=${Math.ceil(maxBytes)}`;
  try {
    const options = `mode=0777,nosuid,nodev${size}`;
    const command = { timeout: MOUNT_MS, env: { ...HELPER_ENVIRONMENT } };
    await run(helper('mount'), ['-t', 'tmpfs', '-o', options, MEMORY_VOLUME, path], command);
  } catch (error) {
    throw new VolumeError(`cannot mount a volume in memory: ${describeError(error)}`);
  }
  await giveDirectory(path, owner);
}

/** A mount point belongs to another file system than the directory around it. */
async function isMounted(path: string): Promise<boolean> {
  const [own, around] = await Promise.all([stat(path), stat(dirname(path))]);
  return own.dev !== around.dev;
}

const run = promisify(execFile);

export interface FileOwners {
  readonly owner?: Owner | undefined;
  /** The only user who can read tokens. Absent: all users who can read other files. */
  readonly tokenUser?: number | undefined;
}

/**
 * Writes all files of a volume atomically: a reader sees the old ones or the new ones, never a mixture. They are in a
 * separate directory. `..data` points at it and is replaced by a rename, and the names that pods know point through
 * `..data`.
 */
export async function writeVolume(
  path: string,
  files: ReadonlyMap<string, VolumeFile>,
  { owner, tokenUser }: FileOwners = {},
): Promise<void> {
  await makeReadable(path);
  const version = `..${digestOf(files)}`;
  const current = await targetOf(join(path, DATA));
  if (current === version) return;
  // A write that was cut off may have left half of it.
  await rm(join(path, version), { recursive: true, force: true });
  await writeFiles(join(path, version), files, { owner, tokenUser });
  const names = new Set([...files.keys()].map((file) => file.split('/')[0] ?? file));
  await replaceLink(path, DATA, version);
  for (const name of names) {
    if ((await targetOf(join(path, name))) === undefined) await symlink(join(DATA, name), join(path, name));
  }
  for (const name of await readdir(path)) {
    const isOurs = name === DATA || name === version || names.has(name);
    // A mount point inside the volume is a directory, not a link.
    const isOld = name.startsWith('..') || (await targetOf(join(path, name))) !== undefined;
    if (!isOurs && isOld) await rm(join(path, name), { recursive: true, force: true });
  }
}

/** `chown` leaves it as it is. */
const SAME = -1;

async function writeFiles(
  directory: string,
  files: ReadonlyMap<string, VolumeFile>,
  { owner, tokenUser }: FileOwners,
): Promise<void> {
  await makeReadable(directory);
  for (const [file, { bytes, mode, isToken = false }] of files) {
    const target = join(directory, file);
    await makeReadable(dirname(target));
    await writeFile(target, bytes, { mode: 0o600 });
    const uid = (isToken ? tokenUser : undefined) ?? owner?.uid ?? SAME;
    if (process.getuid?.() === 0) await chown(target, uid, owner?.gid ?? SAME);
    await chmod(target, isToken ? tokenFileMode(mode, owner, tokenUser) : ownedFileMode(mode, owner));
  }
}

/** Every directory that is missing, whatever mask this process has: containers of other users look into them. */
async function makeReadable(path: string): Promise<void> {
  if (await exists(path)) return;
  await makeReadable(dirname(path));
  await mkdir(path);
  await chmod(path, READABLE_MODE);
}

const READABLE_MODE = 0o755;

async function replaceLink(path: string, name: string, target: string): Promise<void> {
  const temporary = join(path, `${name}_new`);
  await rm(temporary, { force: true });
  await symlink(target, temporary);
  await rename(temporary, join(path, name));
}

function digestOf(files: ReadonlyMap<string, VolumeFile>): string {
  const hash = createHash('sha256');
  for (const [path, { bytes, mode }] of [...files].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    hash.update(`${path}\0${mode}\0${bytes.length}\0`).update(bytes);
  }
  return hash.digest('hex');
}

async function targetOf(link: string): Promise<string | undefined> {
  try {
    return (await lstat(link)).isSymbolicLink() ? await readlink(link) : undefined;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

type HostPathCheck = (path: string) => Promise<void>;

/**
 * A path of this machine, created or checked by `hostPath.type`. `owner` applies only to a directory that is created.
 */
export async function useHostPath(path: string, type: string, owner?: Owner): Promise<void> {
  const isNew = owner !== undefined && !(await exists(path));
  if (type === 'DirectoryOrCreate') await makeReadable(path);
  if (type === 'FileOrCreate') await makeFile(path);
  const check = HOST_PATH_CHECKS.get(type);
  if (check === undefined) throw new VolumeError(`hostPath type ${JSON.stringify(type)} is not known`);
  await check(path);
  if (isNew) await giveClaimed(path, owner);
}

/** The group writes, and new files belong to it, where the pod names one. */
async function giveClaimed(path: string, owner: Owner): Promise<void> {
  await chown(path, owner.uid, owner.gid);
  if (owner.group && (await stat(path)).isDirectory()) await chmod(path, GROUP_WRITES | INHERIT_GROUP);
}

const GROUP_WRITES = 0o775;
const OF_GROUP = 0o020;
const OF_OTHERS = 0o002;

/**
 * A directory that existed before its claim had a user: an empty one of root becomes the pod's. `false`: it is root's and has files, so
 * the pod cannot write it. Every other owner was chosen by somebody.
 */
export async function adoptDirectory(path: string, owner: Owner): Promise<boolean> {
  const found = await stat(path);
  const isWritable =
    owner.uid === ROOT || (found.mode & OF_OTHERS) !== 0 || (found.gid === owner.gid && (found.mode & OF_GROUP) !== 0);
  if (!found.isDirectory() || found.uid !== ROOT || isWritable) return true;
  if ((await readdir(path)).length > 0) return false;
  await giveClaimed(path, owner);
  return true;
}

const ROOT = 0;

async function makeFile(path: string): Promise<void> {
  if (await exists(path)) return;
  await writeFile(path, '', { flag: 'wx' });
  await chmod(path, 0o644);
}

const expectKind =
  (what: string, test: 'isDirectory' | 'isFile' | 'isSocket' | 'isCharacterDevice' | 'isBlockDevice'): HostPathCheck =>
  async (path) => {
    const found = (await exists(path)) ? await lstat(await realpath(path)) : undefined;
    if (found?.[test]() !== true) throw new VolumeError(`hostPath type check failed: ${path} is not a ${what}`);
  };

const HOST_PATH_CHECKS: ReadonlyMap<string, HostPathCheck> = new Map(
  Object.entries<HostPathCheck>({
    // As in container runtimes: a missing mount source becomes a directory.
    '': makeReadable,
    DirectoryOrCreate: expectKind('directory', 'isDirectory'),
    Directory: expectKind('directory', 'isDirectory'),
    FileOrCreate: expectKind('file', 'isFile'),
    File: expectKind('file', 'isFile'),
    Socket: expectKind('socket file', 'isSocket'),
    CharDevice: expectKind('character device', 'isCharacterDevice'),
    BlockDevice: expectKind('block device', 'isBlockDevice'),
  }),
);

async function exists(path: string): Promise<boolean> {
  try {
    await realpath(path);
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR');
