import { createWriteStream } from 'node:fs';

/** Prints where its inspector listens; any free port. */
export const INSPECTED: readonly string[] = ['--inspect=127.0.0.1:0'];

const LISTENING = /^Debugger listening on (ws:\S+)$/;

export const inspectorIn = (line: string): string | undefined => LISTENING.exec(line)?.[1];

export interface HeapUsage {
  readonly usedMb: number;
  /** ArrayBuffers and what else lies outside of the heap of V8, as far as V8 knows of it. */
  readonly externalMb: number;
}

const BYTES_PER_MB = 1024 * 1024;

/** Looks into the main thread of a running server. Costs it nothing between the questions. */
export class Inspector {
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, { resolve: (result: unknown) => void; reject: (error: Error) => void }>();
  #onChunk: (chunk: string) => void = () => {};
  #last = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener('message', ({ data }) => this.#take(String(data)));
  }

  static open(url: string): Promise<Inspector> {
    return new Promise((resolve, reject) => {
      const socket = new WebSocket(url);
      const inspector = new Inspector(socket);
      socket.addEventListener('open', () => resolve(inspector));
      socket.addEventListener('error', () => reject(new Error(`no inspector at ${url}`)));
    });
  }

  /** After a full collection. */
  async heapUsage(): Promise<HeapUsage> {
    await this.#ask('HeapProfiler.collectGarbage');
    const used = (await this.#ask('Runtime.getHeapUsage')) as { usedSize: number; backingStorageSize?: number };
    return { usedMb: used.usedSize / BYTES_PER_MB, externalMb: (used.backingStorageSize ?? 0) / BYTES_PER_MB };
  }

  async startProfile(): Promise<void> {
    await this.#ask('Profiler.enable');
    await this.#ask('Profiler.start');
  }

  /** As developer tools read it. */
  async stopProfile(): Promise<string> {
    const { profile } = (await this.#ask('Profiler.stop')) as { profile: unknown };
    return JSON.stringify(profile);
  }

  async writeSnapshot(file: string): Promise<void> {
    const output = createWriteStream(file);
    this.#onChunk = (chunk) => output.write(chunk);
    await this.#ask('HeapProfiler.takeHeapSnapshot');
    await new Promise((resolve) => output.end(resolve));
  }

  close(): void {
    this.#socket.close();
  }

  #ask(method: string): Promise<unknown> {
    const id = ++this.#last;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#socket.send(JSON.stringify({ id, method }));
    });
  }

  #take(text: string): void {
    const message = JSON.parse(text) as {
      id?: number;
      result?: unknown;
      error?: { message: string };
      method?: string;
      params?: { chunk?: string };
    };
    if (message.method === 'HeapProfiler.addHeapSnapshotChunk') this.#onChunk(message.params?.chunk ?? '');
    const asked = message.id === undefined ? undefined : this.#waiting.get(message.id);
    if (asked === undefined) return;
    this.#waiting.delete(message.id ?? 0);
    if (message.error === undefined) asked.resolve(message.result);
    else asked.reject(new Error(message.error.message));
  }
}
