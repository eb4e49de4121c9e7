import type { TLSSocket } from 'node:tls';
import { openTls, type Target } from './tls-connection.ts';

export interface Answer {
  readonly status: number;
  readonly body: Buffer;
}

/**
 * One keep-alive HTTP/1.1 connection over TLS for load tests: requests are strings, and responses are cut from the
 * stream without header objects, so that the driver uses as little as possible of the shared cores.
 */
export class Connection {
  #socket: TLSSocket | undefined;
  readonly #target: Target;
  #pieces: Buffer[] = [];
  #size = 0;
  /** No answer can be complete below this many bytes. */
  #wanted = 0;
  #waiting: { resolve: (answer: Answer) => void; reject: (error: Error) => void } | undefined;

  private constructor(target: Target) {
    this.#target = target;
  }

  static async open(target: Target): Promise<Connection> {
    const connection = new Connection(target);
    const socket = await openTls(target, (bytes) => connection.#receive(bytes));
    socket.on('error', (error) => connection.#waiting?.reject(error));
    socket.on('close', () => connection.#waiting?.reject(new Error('the server closed the connection')));
    connection.#socket = socket;
    return connection;
  }

  request(method: string, path: string, body = '', contentType = 'application/json'): Promise<Answer> {
    const length = body === '' ? '' : `Content-Type: ${contentType}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n`;
    const head = `${method} ${path} HTTP/1.1\r\nHost: ${this.#target.host}\r\nAuthorization: Bearer ${this.#target.token}\r\nAccept: application/json\r\n${length}\r\n`;
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
      this.#socket?.write(head + body);
    });
  }

  close(): void {
    this.#waiting = undefined;
    this.#socket?.destroy();
  }

  /** Bytes are joined only when a whole answer may be there: a long list arrives in hundreds of pieces. */
  #receive(bytes: Buffer): void {
    // They are lent.
    const chunk = Buffer.from(bytes);
    this.#pieces.push(chunk);
    this.#size += chunk.length;
    if (this.#size < this.#wanted) return;
    const data = this.#pieces.length === 1 ? chunk : Buffer.concat(this.#pieces, this.#size);
    const answer = cutAnswer(data);
    const rest = 'length' in answer ? data.subarray(answer.length) : data;
    this.#pieces = rest.length === 0 ? [] : [rest];
    this.#size = rest.length;
    this.#wanted = 'length' in answer ? 0 : answer.needed;
    if (!('length' in answer)) return;
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.resolve(answer);
  }
}

type Cut = (Answer & { readonly length: number }) | { readonly needed: number };

function cutAnswer(data: Buffer): Cut {
  const headEnd = data.indexOf('\r\n\r\n');
  if (headEnd === -1) return { needed: data.length + 1 };
  const head = data.toString('latin1', 0, headEnd).toLowerCase();
  const status = Number(head.slice(9, 12));
  const bodyStart = headEnd + 4;
  const declared = /\r\ncontent-length: (\d+)/.exec(head)?.[1];
  if (declared !== undefined) {
    const end = bodyStart + Number(declared);
    return data.length < end ? { needed: end } : { status, body: data.subarray(bodyStart, end), length: end };
  }
  return /\r\ntransfer-encoding: chunked/.test(head)
    ? cutChunks(data, bodyStart, status)
    : { status, body: Buffer.alloc(0), length: bodyStart };
}

function cutChunks(data: Buffer, bodyStart: number, status: number): Cut {
  const parts: Buffer[] = [];
  let at = bodyStart;
  for (;;) {
    const lineEnd = data.indexOf('\r\n', at);
    if (lineEnd === -1) return { needed: data.length + 1 };
    const size = Number.parseInt(data.toString('latin1', at, lineEnd), 16);
    const next = lineEnd + 2 + size + 2;
    if (data.length < next) return { needed: next };
    if (size === 0) return { status, body: Buffer.concat(parts), length: next };
    parts.push(data.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = next;
  }
}
