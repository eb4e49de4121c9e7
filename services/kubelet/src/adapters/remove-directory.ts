import type { Dirent } from 'node:fs';
import { opendir, rmdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';

/** Names that are read from a directory at once. */
const NAMES_AT_ONCE = 256;

/**
 * Removes a directory with everything in it, entry by entry, and follows no links. Rejects with the reason of `signal`
 * soon after it aborts: what is left is removed by the next call. A directory that does not exist is ignored.
 */
export async function removeDirectory(path: string, signal?: AbortSignal): Promise<void> {
  // Removing entries may hide others from the reader of the directory, so it is read until it is empty.
  while (await removeSomeEntries(path, signal));
}

/** Returns false when the directory is gone. */
async function removeSomeEntries(path: string, signal: AbortSignal | undefined): Promise<boolean> {
  signal?.throwIfAborted();
  const entries = await firstEntries(path);
  if (entries === undefined) return false;
  for (const entry of entries) {
    signal?.throwIfAborted();
    const at = join(path, entry.name);
    if (entry.isDirectory()) await removeDirectory(at, signal);
    else await unlink(at).catch(ignoreMissing);
  }
  if (entries.length > 0) return true;
  await rmdir(path).catch(ignoreMissing);
  return false;
}

async function firstEntries(path: string): Promise<readonly Dirent[] | undefined> {
  const directory = await opendir(path, { bufferSize: NAMES_AT_ONCE }).catch(ignoreMissing);
  if (directory === undefined) return undefined;
  const entries: Dirent[] = [];
  for await (const entry of directory) if (entries.push(entry) === NAMES_AT_ONCE) break;
  return entries;
}

function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}
