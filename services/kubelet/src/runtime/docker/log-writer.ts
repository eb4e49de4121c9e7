import { type FileHandle, mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { LogLimits } from '../log-limits.ts';
import { moveAside } from '../log-rotation.ts';
import { type LogLine, type LogPlace, placeAfter } from './log-lines.ts';

const TAIL_BYTES = 256 * 1024;
const PRIVATE_FILE = 0o600;
const PRIVATE_FOLDER = { recursive: true, mode: 0o700 } as const;

/** The file of one container's log. It is continued after a crash, and put aside when it is full. */
export class LogWriter {
  readonly #path: string;
  readonly #limits: LogLimits;
  #file: FileHandle;
  #size: number;

  private constructor(path: string, limits: LogLimits, file: FileHandle, size: number) {
    this.#path = path;
    this.#limits = limits;
    this.#file = file;
    this.#size = size;
  }

  static async open(
    path: string,
    limits: LogLimits,
  ): Promise<{ readonly writer: LogWriter; readonly place: LogPlace | undefined }> {
    await mkdir(dirname(path), PRIVATE_FOLDER);
    const file = await open(path, 'a+', PRIVATE_FILE);
    const tail = await readTail(file);
    // The last line may have been cut off by a crash: it comes again.
    const cut = tail.text.length - (tail.text.lastIndexOf('\n') + 1);
    const size = tail.size - cut;
    if (cut > 0) await file.truncate(size);
    const place = placeAfter(tail.text) ?? (size === 0 ? await placeIn(`${path}.1`) : undefined);
    return { writer: new LogWriter(path, limits, file, size), place };
  }

  async append(lines: readonly LogLine[]): Promise<void> {
    if (lines.length === 0) return;
    const bytes = Buffer.concat(lines.map((line) => line.bytes));
    await this.#file.appendFile(bytes);
    this.#size += bytes.length;
    if (this.#size > this.#limits.maxBytes) await this.#rotate();
  }

  async close(): Promise<void> {
    await this.#file.close();
  }

  async #rotate(): Promise<void> {
    moveAside(this.#path, this.#limits.maxFiles);
    const next = await open(this.#path, 'a+', PRIVATE_FILE);
    await this.#file.close();
    this.#file = next;
    this.#size = 0;
  }
}

/** As text of single bytes: lengths are those of the file. */
async function readTail(file: FileHandle): Promise<{ readonly text: string; readonly size: number }> {
  const { size } = await file.stat();
  const length = Math.min(size, TAIL_BYTES);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, size - length);
  return { text: buffer.subarray(0, bytesRead).toString('latin1'), size };
}

/** The youngest older part: a crash came before the first line of the new one. */
async function placeIn(path: string): Promise<LogPlace | undefined> {
  const file = await open(path, 'r').catch(() => undefined);
  if (file === undefined) return undefined;
  try {
    return placeAfter((await readTail(file)).text);
  } finally {
    await file.close();
  }
}
