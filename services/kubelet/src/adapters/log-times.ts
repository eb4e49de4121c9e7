import { open, stat } from 'node:fs/promises';

/** When each part of a log was first seen, from the notes that the supervisor keeps beside it. */
export interface LogTimes {
  /** The time of the line that begins here. Unrecorded lines were written just now. */
  at(offset: number): Promise<number>;
}

export function openLogTimes(logPath: string): LogTimes {
  return new NotedTimes(logPath, `${logPath}.times`);
}

/** Each record has the length of the log at a time. A line has the time of the first record beyond its start. */
class NotedTimes implements LogTimes {
  readonly #logPath: string;
  readonly #path: string;
  #sizes: number[] = [];
  #times: number[] = [];
  #read = 0;
  #inode = 0;
  #rest = '';
  #asked = 0;

  constructor(logPath: string, path: string) {
    this.#logPath = logPath;
    this.#path = path;
  }

  async at(offset: number): Promise<number> {
    // The log was truncated during the read: its records start again.
    if (offset < this.#asked) this.#forget();
    this.#asked = offset;
    if (offset >= (this.#sizes.at(-1) ?? 0)) await this.#readOn();
    return this.#times[firstPast(this.#sizes, offset)] ?? (await modified(this.#logPath));
  }

  async #readOn(): Promise<void> {
    const { size, ino } = (await stat(this.#path).catch(isMissing)) ?? { size: 0, ino: 0 };
    // Truncated, or rewritten without the records of removed parts.
    if (size < this.#read || ino !== this.#inode) this.#forget();
    this.#inode = ino;
    if (size === this.#read) return;
    await using file = await open(this.#path, 'r');
    const { bytesRead, buffer } = await file.read(new Uint8Array(size - this.#read), 0, size - this.#read, this.#read);
    this.#read += bytesRead;
    const lines = (this.#rest + Buffer.from(buffer.subarray(0, bytesRead)).toString('latin1')).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) this.#add(line);
  }

  #add(line: string): void {
    const [size = 0, time = 0] = line.split(' ').map(Number);
    // The log was emptied: what was noted before is about lines that are gone.
    if (size <= (this.#sizes.at(-1) ?? 0)) {
      this.#sizes = [];
      this.#times = [];
    }
    this.#sizes.push(size);
    this.#times.push(time);
  }

  #forget(): void {
    this.#sizes = [];
    this.#times = [];
    this.#read = 0;
    this.#rest = '';
  }
}

/** Index of the first size beyond the offset. */
function firstPast(sizes: readonly number[], offset: number): number {
  let low = 0;
  let high = sizes.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sizes[middle] ?? 0) > offset) high = middle;
    else low = middle + 1;
  }
  return low;
}

async function modified(path: string): Promise<number> {
  return Math.floor((await stat(path).catch(isMissing))?.mtimeMs ?? 0);
}

function isMissing(error: unknown): undefined {
  if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
}
