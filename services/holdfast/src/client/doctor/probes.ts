import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeSync,
} from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import type { Clock } from '@holdfast/platform';

/** The directory itself or, while it does not exist, the nearest one above it. */
export function existing(directory: string): string {
  let found = directory;
  while (!existsSync(found) && path.dirname(found) !== found) found = path.dirname(found);
  return found;
}

/** Resolves with the error code of a listen at this address; undefined: it is free. */
export function listenError(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'unknown'));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}

export interface DiskFacts {
  readonly freeBytes: number;
  readonly freeFiles: number;
  /** The number of the kernel for this kind of file system. */
  readonly type: number;
}

export function diskFacts(directory: string): DiskFacts {
  const { bavail, bsize, ffree, files, type } = statfsSync(directory);
  // Some file systems do not count files.
  return { freeBytes: bavail * bsize, freeFiles: files === 0 ? Number.POSITIVE_INFINITY : ffree, type };
}

const BLOCK = Buffer.alloc(4096, 1);

/** Milliseconds of each of several small synced writes. Throws when the directory cannot be written. */
export function syncTimes(directory: string, clock: Clock, count: number): readonly number[] {
  const folder = mkdtempSync(path.join(directory, '.holdfast-doctor-'));
  try {
    const file = openSync(path.join(folder, 'trial'), 'w', 0o600);
    try {
      return Array.from({ length: count }, () => {
        const from = clock.monotonic();
        writeSync(file, BLOCK);
        fsyncSync(file);
        return clock.monotonic() - from;
      });
    } finally {
      closeSync(file);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Undefined: it does not exist, or this user may not read it. */
export function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

const PROGRAM_DIRECTORIES = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];

export const hasProgram = (name: string): boolean =>
  PROGRAM_DIRECTORIES.some((directory) => existsSync(path.join(directory, name)));
