import type { IncomingMessage } from 'node:http';
import { deepFreeze } from '@holdfast/machinery';
import type { Clock, Timer } from '@holdfast/platform';
import { WATCH_LINE_BYTES_MAX } from '../limits.ts';
import { TransportError, type WatchEvent, type WatchFrame } from './port.ts';

const NEWLINE = 0x0a;

/**
 * Yields the lines of a watch. Ends when the server ends the stream or the signal aborts. Rejects when the connection
 * breaks or is silent for `watchIdleMs`: bookmarks come more often than that, so the connection is half-open.
 */
export async function* watchFrames(
  incoming: IncomingMessage,
  options: { readonly clock: Clock; readonly signal: AbortSignal; readonly watchIdleMs: number },
): AsyncGenerator<WatchFrame> {
  const { clock, signal, watchIdleMs } = options;
  let lastAt = clock.monotonic();
  let silent = false;
  const onIdle = (): void => {
    const leftMs = lastAt + watchIdleMs - clock.monotonic();
    silent = leftMs <= 0;
    if (silent) incoming.destroy();
    else timer = clock.timer(leftMs, onIdle);
  };
  let timer: Timer = clock.timer(watchIdleMs, onIdle);
  const onAbort = (): void => void incoming.destroy();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    if (signal.aborted) return;
    yield* framesOf(incoming, () => (lastAt = clock.monotonic()));
  } catch (error) {
    if (signal.aborted) return;
    if (error instanceof TransportError) throw error;
    const what = silent ? `the watch was silent for ${watchIdleMs} ms` : 'the watch broke';
    throw new TransportError(what, { cause: error });
  } finally {
    timer.cancel();
    signal.removeEventListener('abort', onAbort);
    incoming.destroy();
  }
}

/** The lines of a stream. `onChunk` hears that something came, which need not be a whole line. */
export async function* framesOf(
  chunks: AsyncIterable<unknown>,
  onChunk: () => void = () => {},
): AsyncGenerator<WatchFrame> {
  const lines = createLineSplitter();
  for await (const chunk of chunks) {
    if (!(chunk instanceof Uint8Array)) throw new Error('a watch is binary');
    onChunk();
    for (const line of lines.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length))) yield frameOf(line);
  }
}

function frameOf(line: Buffer): WatchFrame {
  let parsed: WatchEvent | undefined;
  return {
    bytes: () => Buffer.concat([line, Buffer.of(NEWLINE)]),
    value: () => {
      parsed ??= deepFreeze(parseEvent(line));
      return parsed;
    },
  };
}

function parseEvent(line: Buffer): WatchEvent {
  try {
    return JSON.parse(line.toString('utf8')) as WatchEvent;
  } catch (error) {
    throw new TransportError('a watch frame is not JSON', { cause: error });
  }
}

/** Splits a byte stream at newlines. A line may span any number of chunks. */
function createLineSplitter(): { push(chunk: Buffer): readonly Buffer[] } {
  let partial: Buffer[] = [];
  let partialBytes = 0;
  return {
    push: (chunk) => {
      const lines: Buffer[] = [];
      let start = 0;
      for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
        const line = Buffer.concat([...partial, chunk.subarray(start, end)]);
        partial = [];
        partialBytes = 0;
        start = end + 1;
        if (line.length > 0) lines.push(line);
      }
      if (start < chunk.length) partial.push(chunk.subarray(start));
      partialBytes += chunk.length - start;
      if (partialBytes > WATCH_LINE_BYTES_MAX) throw new TransportError('a watch frame is too long');
      return lines;
    },
  };
}
