import { createHash } from 'node:crypto';
import { lstatSync, mkdirSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { RuntimeError } from '../port.ts';
import { SOCKET_PATH_MAX_BYTES } from './limits.ts';

/** An id without an entry in `/etc/passwd` is as good as any. */
const userId = (): number => process.getuid?.() ?? userInfo().uid;

/** The supervisor has no environment, so a temporary directory that TMPDIR names would be another one for it. */
const TEMPORARY = '/tmp';

/**
 * In the state directory or, when that path is too long for a socket, in this user's directory below the temporary one.
 */
export function socketPath(stateDirectory: string, temporary = TEMPORARY): string {
  const inside = join(stateDirectory, 'supervisor.sock');
  if (Buffer.byteLength(inside) <= SOCKET_PATH_MAX_BYTES) return inside;
  const directory = join(temporary, `holdfast-${userId()}`);
  makeOwn(directory);
  return join(directory, `${directoryHash(stateDirectory)}.sock`);
}

/** Everybody may create it first, and would then have the socket that starts commands as the user of the node. */
function makeOwn(directory: string): void {
  if (lstatSync(directory, { throwIfNoEntry: false }) === undefined)
    mkdirSync(directory, { recursive: true, mode: 0o700 });
  const found = lstatSync(directory);
  if (found.isDirectory() && found.uid === userId() && (found.mode & OF_OTHERS) === 0) return;
  throw new RuntimeError(
    'Unavailable',
    `the supervisor's socket cannot be in ${directory}: it is not a directory of this user alone; ` +
      'remove it, or choose a data directory with a shorter path',
  );
}

const OF_OTHERS = 0o077;

/**
 * An address outside the file system, bound for as long as the supervisor lives: the kernel frees it even after a kill,
 * so whoever can bind it knows that no other supervisor serves this directory.
 */
export function lockAddress(stateDirectory: string): string {
  return `\0holdfast-supervisor-${userId()}-${directoryHash(stateDirectory)}`;
}

/** The same for the watchdog, which answers there, too. */
export const watchdogAddress = (stateDirectory: string): string =>
  `\0holdfast-watchdog-${userId()}-${directoryHash(stateDirectory)}`;

/** A name for what belongs to one state directory. */
export function directoryHash(stateDirectory: string): string {
  return createHash('sha256').update(stateDirectory).digest('hex').slice(0, 32);
}
