import { type FileHandle, open, readFile, stat } from 'node:fs/promises';
import type { Clock } from '@holdfast/platform';
import { LOG_BLOCK_BYTES, LOG_FOLLOW_POLL_MS } from '../limits.ts';
import { criLines, type LogBlock, timedLines } from './log-lines.ts';
import { openLogTimes } from './log-times.ts';

export interface LogFileRequest {
  readonly path: string;
  /** Each line begins with its time, as container runtimes write them. Absent: nothing but what was written. */
  readonly format?: 'cri';
  /** Say before each line when it was written. */
  readonly timestamps?: boolean;
  /** Only what was written from this time on. */
  readonly sinceMs?: number;
  /** Only the last lines; absent = all. */
  readonly tailLines?: number;
  readonly limitBytes?: number;
  /** When present, follows the file as it grows, until this returns true. */
  readonly isOver?: () => Promise<boolean>;
  readonly signal?: AbortSignal;
}

/** A log that does not exist yet is empty. */
export async function* readLogFile(clock: Clock, request: LogFileRequest): AsyncGenerator<Uint8Array> {
  const file = await openOrUndefined(request.path);
  if (file === undefined) return;
  const log = { file };
  try {
    yield* limited(linesOf(readOn(clock, log, request), request), request.limitBytes);
  } finally {
    await log.file.close();
  }
}

function linesOf(blocks: AsyncIterable<LogBlock>, request: LogFileRequest): AsyncIterable<Uint8Array> {
  const { path, format, timestamps = false, sinceMs } = request;
  if (format === 'cri') return criLines(blocks, { timestamps, sinceMs });
  if (timestamps || sinceMs !== undefined) return timedLines(blocks, openLogTimes(path), { timestamps, sinceMs });
  return bytesOf(blocks);
}

async function* bytesOf(blocks: AsyncIterable<LogBlock>): AsyncGenerator<Uint8Array> {
  for await (const { bytes } of blocks) yield bytes;
}

/** The current file: a container runtime starts a new one when it grows too large. */
interface OpenLog {
  file: FileHandle;
}

async function* readOn(clock: Clock, log: OpenLog, request: LogFileRequest): AsyncGenerator<LogBlock> {
  const { path, tailLines } = request;
  const { present } = await readParts(path);
  let offset = tailLines === undefined ? present : await tailOffset(log.file, tailLines, present);
  let isLeft = false;
  const isAborted = (): boolean => request.signal?.aborted === true;
  for (;;) {
    // Called before the read, so that everything written until the end is read.
    const isOver = request.isOver === undefined || (await request.isOver());
    const { size } = await log.file.stat();
    // The file was truncated because it grew too large: continue from its start.
    if (size < offset) offset = 0;
    while (offset < size && !isAborted()) {
      const bytes = await readBlock(log.file, offset, Math.min(LOG_BLOCK_BYTES, size - offset));
      if (bytes.length === 0) break;
      const { oldest } = await readParts(path);
      if (oldest > offset) {
        // A slow reader finds zeros there: it continues with the existing data.
        offset = oldest;
        continue;
      }
      yield { offset, bytes };
      offset += bytes.length;
    }
    if (isAborted()) return;
    // Read once more after it was left: its writer changes over in the middle of a line.
    const successor = request.isOver === undefined ? undefined : await successorOf(log.file, path);
    const next: FileHandle | undefined =
      isLeft && successor !== undefined ? await openOrUndefined(successor) : undefined;
    isLeft = successor !== undefined && next === undefined;
    if (next !== undefined) {
      await log.file.close();
      log.file = next;
      offset = 0;
      continue;
    }
    if (isOver && !isLeft) return;
    await clock.sleep(LOG_FOLLOW_POLL_MS);
  }
}

/** Returns the start of the last `lines` lines, reading backwards. A last line without a newline counts. */
async function tailOffset(file: FileHandle, lines: number, floor: number): Promise<number> {
  const { size } = await file.stat();
  if (lines === 0) return size;
  let missing = lines;
  let end = size;
  while (end > floor) {
    const start = Math.max(floor, end - LOG_BLOCK_BYTES);
    const block = await readBlock(file, start, end - start);
    for (let i = block.length - 1; i >= 0; i--) {
      const isEndOfFile = start + i === size - 1;
      if (block[i] !== NEWLINE || isEndOfFile) continue;
      missing--;
      if (missing === 0) return start + i + 1;
    }
    end = start;
  }
  return floor;
}

/**
 * Returns the start of the oldest existing part and of the current one, from the supervisor's records beside the log.
 */
async function readParts(path: string): Promise<{ readonly oldest: number; readonly present: number }> {
  const text = await readFile(`${path}.parts`, 'utf8').catch(() => '0');
  const begins = text.trim().split('\n').map(Number);
  return { oldest: begins[0] ?? 0, present: begins.at(-1) ?? 0 };
}

/** The file that its writer went over to: another one has its name, or, when that happened again, the name beside its own. */
async function successorOf(file: FileHandle, path: string): Promise<string | undefined> {
  const { ino: own } = await file.stat();
  const inodeOf = async (name: string): Promise<number | undefined> => (await stat(name).catch(() => undefined))?.ino;
  const named = await inodeOf(path);
  if (named === undefined || named === own) return undefined;
  let younger = path;
  for (let age = 1; ; age++) {
    const name = `${path}.${age}`;
    const found = await inodeOf(name);
    if (found === own) return younger;
    // It is gone altogether: on with the present one.
    if (found === undefined) return path;
    younger = name;
  }
}

const NEWLINE = 0x0a;

async function readBlock(file: FileHandle, offset: number, length: number): Promise<Uint8Array> {
  const { bytesRead, buffer } = await file.read(new Uint8Array(length), 0, length, offset);
  return buffer.subarray(0, bytesRead);
}

async function* limited(blocks: AsyncIterable<Uint8Array>, limitBytes: number | undefined): AsyncGenerator<Uint8Array> {
  let room = limitBytes ?? Number.POSITIVE_INFINITY;
  for await (const block of blocks) {
    const part = block.length > room ? block.subarray(0, room) : block;
    room -= part.length;
    yield part;
    if (room === 0) return;
  }
}

async function openOrUndefined(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, 'r');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}
