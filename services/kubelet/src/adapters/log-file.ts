import { type FileHandle, open } from 'node:fs/promises';
import type { Clock } from '@holdfast/platform';
import { LOG_BLOCK_BYTES, LOG_FOLLOW_POLL_MS } from '../limits.ts';

export interface LogFileRequest {
  readonly path: string;
  /** Only the last lines; absent = all. */
  readonly tailLines?: number;
  readonly limitBytes?: number;
  /** Present: go on as the file grows, until this answers true. */
  readonly isOver?: () => Promise<boolean>;
  readonly signal?: AbortSignal;
}

/** A log that does not exist yet is empty. */
export async function* readLogFile(clock: Clock, request: LogFileRequest): AsyncGenerator<Uint8Array> {
  const file = await openOrUndefined(request.path);
  if (file === undefined) return;
  try {
    yield* limited(readOn(clock, file, request), request.limitBytes);
  } finally {
    await file.close();
  }
}

async function* readOn(clock: Clock, file: FileHandle, request: LogFileRequest): AsyncGenerator<Uint8Array> {
  let offset = request.tailLines === undefined ? 0 : await tailOffset(file, request.tailLines);
  const isAborted = (): boolean => request.signal?.aborted === true;
  for (;;) {
    // Asked before reading: what is written until the end is read after it.
    const isOver = request.isOver === undefined || (await request.isOver());
    const { size } = await file.stat();
    // Emptied because it grew too large: what follows begins anew.
    if (size < offset) offset = 0;
    while (offset < size && !isAborted()) {
      const block = await readBlock(file, offset, Math.min(LOG_BLOCK_BYTES, size - offset));
      if (block.length === 0) break;
      offset += block.length;
      yield block;
    }
    if (isOver || isAborted()) return;
    await clock.sleep(LOG_FOLLOW_POLL_MS);
  }
}

/** Where the last `lines` lines begin, read backwards. A last line without its end counts. */
async function tailOffset(file: FileHandle, lines: number): Promise<number> {
  const { size } = await file.stat();
  if (lines === 0) return size;
  let missing = lines;
  let end = size;
  while (end > 0) {
    const start = Math.max(0, end - LOG_BLOCK_BYTES);
    const block = await readBlock(file, start, end - start);
    for (let i = block.length - 1; i >= 0; i--) {
      const isEndOfFile = start + i === size - 1;
      if (block[i] !== NEWLINE || isEndOfFile) continue;
      missing--;
      if (missing === 0) return start + i + 1;
    }
    end = start;
  }
  return 0;
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
