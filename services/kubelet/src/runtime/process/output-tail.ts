import { type FSWatcher, watch } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { Readable } from 'node:stream';
import type { Clock, Timer } from '@holdfast/platform';
import { ATTACH_POLL_MS, STREAM_FRAME_MAX_BYTES } from './limits.ts';

/** Reads new data of a file until `isOver` and everything before that is read. */
export function tailFile(clock: Clock, path: string, isOver: () => boolean): Promise<Readable> {
  return open(path, 'r').then(
    async (file) => new Tail(clock, { path, file, isOver, offset: (await file.stat()).size }),
  );
}

interface Source {
  readonly path: string;
  readonly file: FileHandle;
  readonly isOver: () => boolean;
  offset: number;
}

class Tail extends Readable {
  readonly #clock: Clock;
  readonly #source: Source;
  readonly #watcher: FSWatcher | undefined;
  #poll: Timer | undefined;
  #wake: (() => void) | undefined;
  #reading = false;

  constructor(clock: Clock, source: Source) {
    super();
    this.#clock = clock;
    this.#source = source;
    this.#watcher = tryWatch(source.path, () => this.#wake?.());
  }

  override _read(): void {
    if (this.#reading) return;
    this.#reading = true;
    this.#next().then(
      (chunk) => {
        this.#reading = false;
        this.push(chunk);
      },
      (error: Error) => this.destroy(error),
    );
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#watcher?.close();
    this.#poll?.cancel();
    this.#wake?.();
    void this.#source.file.close().catch(() => undefined);
    done(error);
  }

  async #next(): Promise<Buffer | null> {
    const source = this.#source;
    while (!this.destroyed) {
      // Called before the read, so that everything written until the end is read.
      const isOver = source.isOver();
      const { size } = await source.file.stat();
      // The file was truncated because it grew too large: continue from its start.
      if (size < source.offset) source.offset = 0;
      const length = Math.min(size - source.offset, STREAM_FRAME_MAX_BYTES);
      const { bytesRead, buffer } = await source.file.read(Buffer.alloc(length), 0, length, source.offset);
      source.offset += bytesRead;
      if (bytesRead > 0) return buffer.subarray(0, bytesRead);
      if (isOver) return null;
      await this.#change();
    }
    return null;
  }

  async #change(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    this.#poll = this.#clock.timer(ATTACH_POLL_MS, resolve);
    await promise;
    this.#wake = undefined;
    this.#poll.cancel();
  }
}

/** The number of watches is limited; without one the timer alone looks. */
function tryWatch(path: string, onChange: () => void): FSWatcher | undefined {
  try {
    const watcher = watch(path, { persistent: false }, onChange);
    watcher.on('error', () => watcher.close());
    return watcher;
  } catch {
    return undefined;
  }
}
