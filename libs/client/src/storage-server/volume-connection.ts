import { connect as connectPlain, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Clock, Timer } from '@holdfast/platform';

export interface VolumeTicket {
  /** host:port */
  readonly server: string;
  readonly volume: string;
  readonly token: number;
  readonly proof: string;
  /** PEM of the server's authority. Absent: the connection is not encrypted. */
  readonly ca?: string | undefined;
}

/** `code` is the word of the server: `stale` for a writer of an earlier attachment. */
export class VolumeRefusal extends Error {
  override readonly name = 'VolumeRefusal';
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

interface Answer {
  readonly words: readonly string[];
  readonly payload: Buffer;
}

const ANSWER_MS = 10_000;
/** Longer than any answer line; a server that sends more is not one. */
const LINE_BYTES_MAX = 4_096;
const NEW_LINE = 0x0a;

/** One opened volume. Requests are answered in their order. A request without an answer in time closes the connection. */
export class VolumeConnection {
  readonly #socket: Socket;
  readonly #clock: Clock;
  readonly #waiting: { readonly settle: (answer: Answer | Error) => void; readonly timer: Timer }[] = [];
  #received = Buffer.alloc(0);
  #closed: Error | undefined;

  private constructor(socket: Socket, clock: Clock) {
    this.#socket = socket;
    this.#clock = clock;
    socket.on('data', (chunk: Buffer) => this.#read(chunk));
    socket.on('error', (error) => this.#fail(error));
    socket.on('close', () => this.#fail(new Error('the storage server closed the connection')));
  }

  /** Resolves when the server has accepted the token. */
  static async open(ticket: VolumeTicket, clock: Clock): Promise<VolumeConnection> {
    const connection = new VolumeConnection(dial(ticket), clock);
    try {
      await connection.#ask(`open ${ticket.volume} ${ticket.token} ${ticket.proof}`);
      return connection;
    } catch (error) {
      connection.close();
      throw error;
    }
  }

  async read(offset: number, length: number): Promise<Buffer> {
    return (await this.#ask(`read ${offset} ${length}`)).payload;
  }

  async write(offset: number, bytes: Uint8Array): Promise<void> {
    await this.#ask(`write ${offset} ${bytes.length}`, bytes);
  }

  /** Everything that was written before is durable when this resolves. */
  async flush(): Promise<void> {
    await this.#ask('flush');
  }

  async stat(): Promise<{ readonly size: number; readonly token: number }> {
    const [, size, token] = (await this.#ask('stat')).words;
    return { size: Number(size), token: Number(token) };
  }

  close(): void {
    this.#socket.destroy();
  }

  #ask(line: string, payload: Uint8Array = new Uint8Array()): Promise<Answer> {
    if (this.#closed !== undefined) return Promise.reject(this.#closed);
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const late = (): void => this.#fail(new Error(`the storage server did not answer in ${ANSWER_MS} ms`));
    const settle = (answer: Answer | Error): void => (answer instanceof Error ? reject(answer) : resolve(answer));
    this.#waiting.push({ settle, timer: this.#clock.timer(ANSWER_MS, late) });
    this.#socket.write(`${line}\n`);
    if (payload.length > 0) this.#socket.write(payload);
    return promise;
  }

  #read(chunk: Buffer): void {
    this.#received = Buffer.concat([this.#received, chunk]);
    for (;;) {
      const end = this.#received.indexOf(NEW_LINE);
      if (end === -1) {
        if (this.#received.length > LINE_BYTES_MAX) this.#fail(new Error('the answer is not one of a storage server'));
        return;
      }
      const words = this.#received.subarray(0, end).toString().split(' ');
      const length = words[0] === 'data' ? Number(words[1]) : 0;
      if (this.#received.length < end + 1 + length) return;
      const payload = Buffer.from(this.#received.subarray(end + 1, end + 1 + length));
      this.#received = this.#received.subarray(end + 1 + length);
      this.#settle(words, payload);
    }
  }

  #settle(words: readonly string[], payload: Buffer): void {
    const first = this.#waiting.shift();
    first?.timer.cancel();
    if (words[0] !== 'error') return first?.settle({ words, payload });
    first?.settle(new VolumeRefusal(words[1] ?? '', words.slice(2).join(' ')));
  }

  #fail(error: Error): void {
    this.#closed ??= error;
    this.#socket.destroy();
    for (const { settle, timer } of this.#waiting.splice(0)) {
      timer.cancel();
      settle(this.#closed);
    }
  }
}

function dial({ server, ca }: VolumeTicket): Socket {
  const cut = server.lastIndexOf(':');
  const host = server.slice(0, cut).replace(/^\[|\]$/g, '');
  const port = Number(server.slice(cut + 1));
  if (ca === undefined) return connectPlain({ host, port });
  // TLS sends names of servers only. The certificate is checked against the host in both cases.
  return connectTls({ host, port, ca, servername: isIP(host) === 0 ? host : '' });
}
