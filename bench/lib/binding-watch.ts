import { connect, type TLSSocket } from 'node:tls';
import type { Target } from './connection.ts';

const NAME = '"name":"';
const NODE_NAME = '"nodeName":"';
const DELETION = '"deletionTimestamp":"';

/** Sees when pods of a namespace get a node, without parsing what it does not need. */
export class BindingWatch {
  /** By name of the pod: when it was seen bound, in ms. */
  readonly boundAt = new Map<string, number>();
  /** Names of pods that are to end. */
  readonly terminating = new Set<string>();
  readonly #socket: TLSSocket;
  readonly #onTerminating: (name: string) => void;
  #rest = '';

  private constructor(socket: TLSSocket, onTerminating: (name: string) => void) {
    this.#socket = socket;
    this.#onTerminating = onTerminating;
    socket.on('data', (chunk) => this.#receive(chunk.toString('latin1')));
  }

  static open(
    { host, port, token }: Target,
    namespace: string,
    onTerminating: (name: string) => void = () => {},
  ): Promise<BindingWatch> {
    return new Promise((resolve, reject) => {
      const socket = connect({ host, port, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] });
      const watch = new BindingWatch(socket, onTerminating);
      socket.once('error', reject);
      socket.once('data', () => resolve(watch));
      socket.once('secureConnect', () => {
        const path = `/api/v1/namespaces/${namespace}/pods?watch=1`;
        socket.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${token}\r\n\r\n`);
      });
    });
  }

  /** Resolves when so many pods have a node, or nothing was bound for `quietMs`. */
  async bound(count: number, quietMs: number): Promise<void> {
    let seen = this.boundAt.size;
    let changedAt = performance.now();
    while (this.boundAt.size < count) {
      await new Promise((resolve) => setTimeout(resolve, 5));
      if (this.boundAt.size !== seen) [seen, changedAt] = [this.boundAt.size, performance.now()];
      if (performance.now() - changedAt > quietMs) return;
    }
  }

  close(): void {
    this.#socket.destroy();
  }

  #receive(text: string): void {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    const now = performance.now();
    for (const line of lines) {
      const metadata = line.indexOf('"metadata":');
      if (metadata === -1 || !line.includes(NODE_NAME)) continue;
      const start = line.indexOf(NAME, metadata) + NAME.length;
      const name = line.slice(start, line.indexOf('"', start));
      if (!this.boundAt.has(name)) this.boundAt.set(name, now);
      if (!line.includes(DELETION) || this.terminating.has(name)) continue;
      this.terminating.add(name);
      this.#onTerminating(name);
    }
  }
}
