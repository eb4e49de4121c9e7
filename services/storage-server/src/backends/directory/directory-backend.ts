import { mkdirSync } from 'node:fs';
import { type FileHandle, mkdir, open } from 'node:fs/promises';
import { join } from 'node:path';
import { describeError, OperatorError } from '@holdfast/platform';
import type { VolumeBackend, VolumeData } from '../port.ts';
import { TokenTable } from './token-table.ts';

/** Volumes as sparse files: `volumes/NAME` in the directory, and their tokens in `tokens.sqlite`. */
export function openDirectoryBackend(directory: string): VolumeBackend {
  const folder = join(directory, 'volumes');
  makeFolder(directory, folder);
  const table = TokenTable.open(directory);
  return new DirectoryBackend(folder, table);
}

class DirectoryBackend implements VolumeBackend {
  readonly #folder: string;
  readonly #table: TokenTable;
  readonly #tokens: Map<string, number>;
  readonly #files = new Map<string, FileHandle>();

  constructor(folder: string, table: TokenTable) {
    this.#folder = folder;
    this.#table = table;
    this.#tokens = new Map(table.all());
  }

  count(): number {
    return this.#tokens.size;
  }

  exists(volume: string): boolean {
    return this.#tokens.has(volume);
  }

  async open(volume: string): Promise<{ readonly token: number; readonly data: VolumeData }> {
    const file = this.#files.get(volume) ?? (await this.#openFile(volume));
    this.#files.set(volume, file);
    return { token: this.#tokens.get(volume) ?? 0, data: dataOf(file) };
  }

  async saveToken(volume: string, token: number): Promise<void> {
    this.#table.save(volume, token);
    this.#tokens.set(volume, Math.max(token, this.#tokens.get(volume) ?? 0));
  }

  async close(): Promise<void> {
    await Promise.all([...this.#files.values()].map((file) => file.close()));
    this.#table.close();
  }

  /** The file is on the disk before its token: a token without a file says that data were lost. */
  async #openFile(volume: string): Promise<FileHandle> {
    const path = join(this.#folder, volume);
    if (this.exists(volume)) return open(path, 'r+').catch(lost(volume, 'its data file is missing'));
    await mkdir(this.#folder, { recursive: true });
    const file = await open(path, 'a+', 0o600).then(async (made) => {
      await made.close();
      return open(path, 'r+');
    });
    try {
      if ((await file.stat()).size > 0) throw new Error(`volume ${volume} is damaged: its token is missing`);
      await file.sync();
      await syncFolder(this.#folder);
      await this.saveToken(volume, 0);
      return file;
    } catch (error) {
      await file.close();
      throw error;
    }
  }
}

const lost =
  (volume: string, why: string) =>
  (error: unknown): never => {
    throw new Error(`volume ${volume} is damaged: ${why}`, { cause: error });
  };

/** The names of new files are durable after that. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

const dataOf = (file: FileHandle): VolumeData => ({
  read: async (offset, length) => {
    const bytes = Buffer.alloc(length);
    for (let done = 0; done < length; ) {
      const { bytesRead } = await file.read(bytes, done, length - done, offset + done);
      // The rest was never written.
      if (bytesRead === 0) break;
      done += bytesRead;
    }
    return bytes;
  },
  write: async (offset, bytes) => {
    for (let done = 0; done < bytes.length; )
      done += (await file.write(bytes, done, bytes.length - done, offset + done)).bytesWritten;
  },
  flush: () => file.datasync(),
});

function makeFolder(directory: string, folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  } catch (cause) {
    throw new OperatorError({
      code: 'DATA_UNUSABLE',
      message: `The data directory ${directory} cannot be made: ${describeError(cause)}.`,
      nextStep: 'Give a directory that this user may write to.',
      cause,
    });
  }
}
