import type { TLSSocket } from 'node:tls';
import { openTls, type Target } from './tls-connection.ts';

const NAME = '"name":"';
const NODE_NAME = '"nodeName":"';
const DELETION = '"deletionTimestamp":"';
const ERROR = '{"type":"ERROR"';
/** The last chunk of an answer, as a line of its own: the connection would stay. */
const LAST_CHUNK = '0\r';

/** Sees when pods of a namespace get a node, without parsing what it does not need. */
export class BindingWatch {
  /** By pod name: when it was seen bound, in ms. */
  readonly boundAt = new Map<string, number>();
  /** Names of pods that are to end. */
  readonly terminating = new Set<string>();
  /** A watcher that lags too far is cut off, as in Kubernetes: it begins again, and sees late what came meanwhile. */
  restarts = 0;
  readonly #target: Target;
  readonly #namespace: string;
  readonly #onTerminating: (name: string) => void;
  #socket: TLSSocket | undefined;
  #closed = false;
  #rest = '';

  private constructor(target: Target, namespace: string, onTerminating: (name: string) => void) {
    this.#target = target;
    this.#namespace = namespace;
    this.#onTerminating = onTerminating;
  }

  static async open(
    target: Target,
    namespace: string,
    onTerminating: (name: string) => void = () => {},
  ): Promise<BindingWatch> {
    const watch = new BindingWatch(target, namespace, onTerminating);
    await watch.#connect();
    return watch;
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
    this.#closed = true;
    this.#socket?.destroy();
  }

  async #connect(): Promise<void> {
    const { host, token } = this.#target;
    const { promise: opened, resolve, reject } = Promise.withResolvers<void>();
    this.#rest = '';
    const socket = await openTls(this.#target, (bytes) => {
      resolve();
      this.#receive(bytes.toString('latin1'));
    });
    this.#socket = socket;
    socket.once('error', reject);
    socket.once('close', () => this.#restart());
    const path = `/api/v1/namespaces/${this.#namespace}/pods?watch=1`;
    socket.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${token}\r\n\r\n`);
    await opened;
  }

  #restart(): void {
    if (this.#closed) return;
    this.restarts++;
    void this.#connect();
  }

  #receive(text: string): void {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    const now = performance.now();
    for (const line of lines) {
      if (line === LAST_CHUNK || line.startsWith(ERROR)) this.#socket?.destroy();
      this.#see(line, now);
    }
  }

  #see(line: string, now: number): void {
    const metadata = line.indexOf('"metadata":');
    if (metadata === -1 || !line.includes(NODE_NAME)) return;
    const start = line.indexOf(NAME, metadata) + NAME.length;
    const name = line.slice(start, line.indexOf('"', start));
    if (!this.boundAt.has(name)) this.boundAt.set(name, now);
    if (!line.includes(DELETION) || this.terminating.has(name)) return;
    this.terminating.add(name);
    this.#onTerminating(name);
  }
}
