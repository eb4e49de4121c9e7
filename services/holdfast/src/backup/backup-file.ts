import { createReadStream } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { describeError, OperatorError } from '@holdfast/platform';
import { BackupDamaged, type BackupHead, BackupReader, type StoreContent } from '@holdfast/store';

/** It has every secret of the cluster. */
const FOR_OWNER = 0o600;

export type BackupContent = StoreContent & { readonly head: BackupHead };

/** Reads and verifies a backup. Throws an `OperatorError` for any other file. */
export async function readBackupFile(file: string): Promise<BackupContent> {
  const reader = new BackupReader();
  try {
    // The hash is over the bytes as they are, so a foreign line break is a change, too.
    for await (const line of createInterface({ input: createReadStream(file), crlfDelay: 0 })) reader.add(line);
    return reader.end();
  } catch (cause) {
    const isDamaged = cause instanceof BackupDamaged;
    throw new OperatorError({
      code: isDamaged ? 'BackupDamaged' : 'BackupUnreadable',
      message: isDamaged
        ? `${file} is no backup, or a damaged one: ${cause.message}`
        : `${file} cannot be read: ${describeError(cause)}`,
      nextStep: isDamaged ? 'Use another copy of it; nothing was restored.' : 'Check its path and permissions.',
      exitCode: 2,
      cause,
    });
  }
}

/** Writes and verifies what a server sent. A present file is replaced only by a whole backup. */
export async function writeBackupFile(file: string, chunks: AsyncIterable<Uint8Array>): Promise<BackupHead> {
  const draft = `${file}.${process.pid}.part`;
  try {
    const handle = await open(draft, 'wx', FOR_OWNER);
    try {
      for await (const chunk of chunks) await handle.writeFile(chunk);
      await handle.sync();
    } finally {
      await handle.close();
    }
    const { head } = await readBackupFile(draft);
    await rename(draft, file);
    return head;
  } catch (error) {
    await rm(draft, { force: true });
    throw error instanceof OperatorError && error.code !== 'BackupDamaged' ? error : notWritten(file, error);
  }
}

const notWritten = (file: string, cause: unknown): OperatorError =>
  new OperatorError({
    code: 'BackupNotWritten',
    message: `the backup ${file} was not written: ${describeError(cause)}`,
    nextStep: 'Check its directory and the free space, and that the server still runs; then try again.',
    cause,
  });
