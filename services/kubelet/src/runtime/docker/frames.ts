import type { Duplex, PassThrough } from 'node:stream';
import { RuntimeError } from '../port.ts';
import { FRAME_MAX_BYTES } from './limits.ts';

export type Output = 'stdout' | 'stderr';

export interface Frame {
  readonly output: Output;
  readonly bytes: Buffer;
}

const HEADER_BYTES = 8;
const SIZE_OFFSET = 4;
const STDERR = 2;

/** Both outputs of a container travel as frames: one byte for the output, three empty ones, four for the size, the bytes. */
export class FrameReader {
  #kept: Buffer = Buffer.alloc(0);

  /** The frames that are complete by now. */
  push(chunk: Buffer): readonly Frame[] {
    const bytes = this.#kept.length === 0 ? chunk : Buffer.concat([this.#kept, chunk]);
    const frames: Frame[] = [];
    let at = 0;
    while (bytes.length - at >= HEADER_BYTES) {
      const size = bytes.readUInt32BE(at + SIZE_OFFSET);
      if (size > FRAME_MAX_BYTES) throw new RuntimeError('Internal', 'the engine sent a frame that is too large');
      const end = at + HEADER_BYTES + size;
      if (end > bytes.length) break;
      const output = bytes[at] === STDERR ? 'stderr' : 'stdout';
      frames.push({ output, bytes: bytes.subarray(at + HEADER_BYTES, end) });
      at = end;
    }
    this.#kept = bytes.subarray(at);
    return frames;
  }
}

export interface Receivers {
  readonly sinks: ReadonlyMap<Output, PassThrough>;
  readonly peek: (bytes: Buffer) => void;
}

/** Delivers all bytes until the end. A slow reader makes the other end wait. Outputs without a sink are dropped. */
export async function deliver(socket: Duplex, tty: boolean, { sinks, peek }: Receivers): Promise<void> {
  const reader = new FrameReader();
  try {
    for await (const chunk of socket) {
      const frames = tty ? [{ output: 'stdout', bytes: chunk as Buffer } as const] : reader.push(chunk as Buffer);
      for (const { output, bytes } of frames) {
        peek(bytes);
        await write(sinks.get(output), bytes);
      }
    }
  } finally {
    for (const sink of sinks.values()) sink.end();
  }
}

async function write(sink: PassThrough | undefined, bytes: Buffer): Promise<void> {
  if (sink === undefined || sink.destroyed || sink.write(bytes)) return;
  await new Promise<void>((resolve) => {
    const done = (): void => {
      sink.off('drain', done);
      sink.off('close', done);
      resolve();
    };
    sink.on('drain', done);
    sink.on('close', done);
  });
}
