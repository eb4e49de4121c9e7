import { execFile } from 'node:child_process';
import { chmod, chown, mkdir, realpath, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { describeError } from '@holdfast/platform';
import { VolumeError } from '../domain/volume-files.ts';
import type { Owner } from '../domain/volume-owner.ts';
import { MOUNT_MS } from '../limits.ts';
import { HELPER_ENVIRONMENT, helper } from '../runtime/helpers.ts';

/** A block device of this machine. */
export interface BlockDevice {
  /** Without links. */
  readonly path: string;
  readonly major: number;
  readonly minor: number;
}

/** The device at a path, or behind the links there. */
export async function findDevice(path: string): Promise<BlockDevice> {
  const found = await realpath(path).catch((error: unknown) => {
    throw new VolumeError(`the block device ${path} cannot be found: ${describeError(error)}`);
  });
  const stats = await stat(found, { bigint: true });
  if (!stats.isBlockDevice()) throw new VolumeError(`${path} is not a block device`);
  return { path: found, major: majorOf(stats.rdev), minor: minorOf(stats.rdev) };
}

// The encoding of device numbers in Linux: 12 bits of the major number lie between two parts of the minor one.
const majorOf = (device: bigint): number => Number(((device >> 8n) & 0xfffn) | ((device >> 32n) & 0xfffff000n));
const minorOf = (device: bigint): number => Number((device & 0xffn) | ((device >> 12n) & 0xffffff00n));

/**
 * Makes a file for the same device that belongs to a pod: the one of the machine stays root's, and others may use it. A file of
 * an earlier start is replaced, because the device may have another number by now.
 */
export async function copyDevice(
  { major, minor }: BlockDevice,
  target: string,
  { owner, readOnly }: { readonly owner: Owner | undefined; readonly readOnly: boolean },
): Promise<void> {
  await mkdir(dirname(target), { recursive: true, mode: 0o700 });
  await rm(target, { force: true });
  const command = { timeout: MOUNT_MS, env: { ...HELPER_ENVIRONMENT } };
  try {
    await promisify(execFile)(helper('mknod'), [target, 'b', String(major), String(minor)], command);
  } catch (error) {
    throw new VolumeError(`the node cannot give a block device to the pod: ${describeError(error)}`);
  }
  if (owner !== undefined) await chown(target, owner.uid, owner.gid);
  await chmod(target, readOnly ? READS : READS_AND_WRITES);
}

const READS = 0o440;
const READS_AND_WRITES = 0o660;
