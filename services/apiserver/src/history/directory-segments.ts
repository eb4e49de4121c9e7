import { mkdir, open, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { SegmentStore } from './segment-store.ts';

/** As readable as the store itself: only for its owner. */
const MODE = 0o600;
const FOLDER_MODE = 0o700;
const ENDING = '.segment';
const UNFINISHED = '.part';

/** A file for each segment. There is no fsync: a history that is lost is begun anew. */
export function createDirectorySegments(directory: string): SegmentStore {
  const at = (name: string): string => path.join(directory, `${name}${ENDING}`);
  return {
    isLasting: true,
    open: async () => {
      await mkdir(directory, { recursive: true, mode: FOLDER_MODE });
      const left = (await readdir(directory)).filter((file) => file.endsWith(UNFINISHED));
      for (const file of left) await rm(path.join(directory, file), { force: true });
    },
    list: async () => {
      const names = (await readdir(directory)).filter((file) => file.endsWith(ENDING)).sort();
      const files = names.map((file) => stat(path.join(directory, file)));
      const sizes = await Promise.all(files);
      return names.map((file, i) => ({ name: file.slice(0, -ENDING.length), bytes: sizes[i]?.size ?? 0 }));
    },
    read: async (name, from, length) => {
      const file = await open(at(name), 'r');
      try {
        const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, from);
        return buffer.subarray(0, bytesRead);
      } finally {
        await file.close();
      }
    },
    write: async (name, bytes) => {
      const part = `${at(name)}${UNFINISHED}`;
      await writeFile(part, bytes, { mode: MODE });
      await rename(part, at(name));
    },
    remove: (name) => rm(at(name), { force: true }),
  };
}
