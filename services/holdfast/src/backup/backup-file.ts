import { createReadStream } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { describeError, OperatorError } from '@holdfast/platform';
import { BackupDamaged, type BackupHead, BackupReader, type StoreContent } from '@holdfast/store';

/** It has every secret of the cluster. */
const FOR_OWNER = 0o600;

export type BackupContent = StoreContent & { readonly head: BackupHead };

/** How many objects are done, and how many there are; the second is unknown at first. */
export type Advance = (done: number, total: number | undefined) => void;
const UNWATCHED: Advance = () => {};

/** Reads and verifies a backup. Throws an `OperatorError` for any other file. */
export async function readBackupFile(file: string, advance: Advance = UNWATCHED): Promise<BackupContent> {
  const reader = new BackupReader();
  try {
    for await (const line of linesOf(file)) {
      reader.add(line);
      advance(reader.progress.done, reader.progress.total);
    }
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

/**
 * Only a line feed ends a line. `node:readline` also ends one at U+2028 and U+2029, which JSON leaves as they are in the
 * values of objects.
 */
async function* linesOf(file: string): AsyncGenerator<string> {
  let begun = '';
  for await (const chunk of createReadStream(file, 'utf8') as AsyncIterable<string>) {
    const [first = '', ...others] = chunk.split('\n');
    begun += first;
    for (const next of others) {
      yield begun;
      begun = next;
    }
  }
  if (begun !== '') yield begun;
}

/** Writes and verifies what a server sent. A present file is replaced only by a whole backup. */
export async function writeBackupFile(
  file: string,
  chunks: AsyncIterable<Uint8Array>,
  advance: Advance = UNWATCHED,
): Promise<BackupHead> {
  const draft = `${file}.${process.pid}.part`;
  try {
    const handle = await open(draft, 'wx', FOR_OWNER);
    try {
      const count = new ArrivedObjects();
      for await (const chunk of chunks) {
        await handle.writeFile(chunk);
        count.add(chunk);
        advance(count.objects, count.total);
      }
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

const LINE_BREAK = 10;
/** The first line is far shorter; more is no backup. */
const HEAD_CHARACTERS_MAX = 1_000;

/** Counts the objects of a backup while it arrives. Whether it is one is found out when it is read. */
class ArrivedObjects {
  #lines = 0;
  #head = '';
  #total: number | undefined;

  add(chunk: Uint8Array): void {
    if (this.#lines === 0 && this.#head.length < HEAD_CHARACTERS_MAX) this.#readHead(chunk);
    for (let at = chunk.indexOf(LINE_BREAK); at !== -1; at = chunk.indexOf(LINE_BREAK, at + 1)) this.#lines += 1;
  }

  #readHead(chunk: Uint8Array): void {
    this.#head += Buffer.from(chunk.subarray(0, HEAD_CHARACTERS_MAX)).toString('latin1');
    const total = /^[^\n]*"objects":(\d+)[^\n]*\n/.exec(this.#head)?.[1];
    this.#total = total === undefined ? undefined : Number(total);
  }

  /** Without the first line; the last one is no object, but comes with the end. */
  get objects(): number {
    return Math.min(Math.max(0, this.#lines - 1), this.#total ?? Number.POSITIVE_INFINITY);
  }

  get total(): number | undefined {
    return this.#total;
  }
}

const notWritten = (file: string, cause: unknown): OperatorError =>
  new OperatorError({
    code: 'BackupNotWritten',
    message: `the backup ${file} was not written: ${describeError(cause)}`,
    nextStep: 'Check its directory and the free space, and that the server still runs; then try again.',
    cause,
  });
