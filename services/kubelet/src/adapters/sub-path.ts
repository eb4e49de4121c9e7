import { execFile, spawn } from 'node:child_process';
import { closeSync, existsSync, type Stats } from 'node:fs';
import { chmod, lstat, mkdir, realpath, rmdir, stat, unlink, writeFile } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { promisify } from 'node:util';
import { describeError } from '@holdfast/platform';
import { VolumeError } from '../domain/volume-files.ts';
import { MOUNT_MS } from '../limits.ts';
import { BeneathError, descriptorPath, openBeneath, pathOfDescriptor, statOf } from '../runtime/beneath.ts';
import { HELPER_ENVIRONMENT, helper } from '../runtime/helpers.ts';
import { mountsAt } from '../runtime/pod-directories.ts';

/** As open as its volume, including the setgid bit that `fsGroup` sets. */
const AS_ITS_VOLUME = 0o2777;

export interface SubPathOptions {
  /** A volume that pods write gets missing directories made. */
  readonly make: boolean;
  /** For tests: a hook between steps. */
  readonly beforeStep?: (name: string) => void;
}

/** A place in a volume, held open: whatever happens to its name. */
export interface OpenSubPath {
  /** The real path without links, and the real path of the volume's directory. */
  readonly path: string;
  readonly volume: string;
  readonly isDirectory: boolean;
  /** Makes the place appear at `target`, a path that only the node changes. */
  bindTo(target: string): Promise<void>;
  close(): void;
}

/**
 * The place of `subPath` in a volume, which it may not lead out of. Links of the volume that stay in it are followed once, by a look;
 * then the way that was found is walked without following any, so a pod that swaps names meanwhile gets a refusal.
 */
export async function openSubPath(volume: string, subPath: string, options: SubPathOptions): Promise<OpenSubPath> {
  const { root, way } = await lookUp(volume, subPath, options);
  const names = way.split(sep).filter((name) => name !== '' && name !== '.');
  const { beforeStep } = options;
  const step = {
    ...(beforeStep === undefined ? {} : { beforeStep }),
    ...(options.make ? { make: (await stat(root)).mode & AS_ITS_VOLUME } : {}),
  };
  const descriptor = openWay(root, names, subPath, step);
  return {
    path: pathOfDescriptor(descriptor),
    volume: root,
    isDirectory: statOf(descriptor).isDirectory(),
    bindTo: (target) => bind(descriptor, statOf(descriptor), target),
    close: () => closeSync(descriptor),
  };
}

async function lookUp(
  volume: string,
  subPath: string,
  { make }: SubPathOptions,
): Promise<{ readonly root: string; readonly way: string }> {
  const wanted = join(volume, subPath);
  const root = await realpath(volume);
  const { existing, found } = await nearestExisting(wanted);
  if (found !== root && !found.startsWith(root + sep)) throw leadsOut(subPath);
  if (existing !== wanted && !make) throw new VolumeError(`subPath ${JSON.stringify(subPath)} does not exist`);
  return { root, way: join(relative(root, found), relative(existing, wanted)) };
}

/**
 * The same on a system whose descriptors have no paths, and whose containers run in a virtual machine: a pod that swaps names
 * between this look and the mount is not noticed.
 */
export async function findByName(
  volume: string,
  subPath: string,
  options: SubPathOptions,
): Promise<Pick<OpenSubPath, 'path' | 'volume' | 'isDirectory'>> {
  const { root, way } = await lookUp(volume, subPath, options);
  const path = join(root, way);
  if (options.make && !existsSync(path)) {
    const { mode } = await stat(root);
    const first = await mkdir(path, { recursive: true });
    for (let made = path; first !== undefined && made.startsWith(first); made = dirname(made))
      await chmod(made, mode & AS_ITS_VOLUME);
  }
  return { path, volume: root, isDirectory: (await stat(path)).isDirectory() };
}

function openWay(
  root: string,
  names: readonly string[],
  subPath: string,
  step: Parameters<typeof openBeneath>[2],
): number {
  try {
    return openBeneath(root, names, step);
  } catch (error) {
    if (error instanceof BeneathError) throw leadsOut(subPath);
    if (hasCode(error, 'ENOENT')) throw new VolumeError(`subPath ${JSON.stringify(subPath)} does not exist`);
    throw error;
  }
}

const leadsOut = (subPath: string): VolumeError =>
  new VolumeError(`subPath ${JSON.stringify(subPath)} leads out of the volume`);

/** `found`: without links. */
async function nearestExisting(path: string): Promise<{ readonly existing: string; readonly found: string }> {
  for (let existing = path; ; existing = dirname(existing)) {
    try {
      return { existing, found: await realpath(existing) };
    } catch (error) {
      if (!hasCode(error, 'ENOENT', 'ENOTDIR', 'ELOOP')) throw error;
    }
  }
}

/** The program that mounts inherits the descriptor and names it by that: no path of the volume is looked up again. */
async function bind(descriptor: number, stats: Stats, target: string): Promise<void> {
  await clear(target);
  if (stats.isDirectory()) await mkdir(target, { recursive: true, mode: 0o700 });
  else {
    await mkdir(dirname(target), { recursive: true, mode: 0o700 });
    await writeFile(target, '', { flag: 'a', mode: 0o600 });
  }
  const child = spawn(helper('mount'), ['-c', '--bind', descriptorPath(INHERITED), target], {
    env: HELPER_ENVIRONMENT,
    stdio: ['ignore', 'ignore', 'ignore', descriptor],
    timeout: MOUNT_MS,
  });
  const ended = Promise.withResolvers<number | null>();
  child.on('error', ended.reject);
  child.once('exit', ended.resolve);
  const code = await ended.promise;
  if (code !== 0) throw new VolumeError(`cannot mount a subPath at ${target}: mount ended with ${code}`);
}

const INHERITED = 3;

/**
 * Removes what an earlier start of the same container left. Never recursive: a mount below would lose the files of the
 * volume.
 */
async function clear(target: string): Promise<void> {
  const run = promisify(execFile);
  for (let looks = 0; looks < MOUNTS_LEFT_MAX && mountsAt(target).length > 0; looks++) {
    try {
      await run(helper('umount'), ['-c', target], { env: { ...HELPER_ENVIRONMENT }, timeout: MOUNT_MS });
    } catch (error) {
      throw new VolumeError(`cannot unmount a subPath at ${target}: ${describeError(error)}`);
    }
  }
  try {
    const found = await lstat(target);
    await (found.isDirectory() ? rmdir(target) : unlink(target));
  } catch (error) {
    if (!hasCode(error, 'ENOENT', 'ENOTDIR')) throw error;
  }
}

const MOUNTS_LEFT_MAX = 8;

const hasCode = (error: unknown, ...codes: readonly string[]): boolean =>
  error instanceof Error && 'code' in error && codes.includes(String(error.code));
