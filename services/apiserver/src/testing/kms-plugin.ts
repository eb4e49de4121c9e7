import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Http2Server, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { framed } from '@holdfast/platform/grpc';
import { encodeFields, WireFields } from '../encryption/kms/wire.ts';

type Method = 'Status' | 'Encrypt' | 'Decrypt';

export interface KmsCall {
  readonly method: Method;
  readonly uid: string;
  readonly keyId: string;
}

/** A KMS v2 plugin on a UNIX socket. Its keys are the names of the keys, so that all plugins share them. */
export class TestKmsPlugin {
  readonly socket: string;
  readonly calls: KmsCall[] = [];
  keyId = 'key-1';
  version = 'v2';
  healthz = 'ok';
  annotations: ReadonlyMap<string, Buffer> = new Map([['version.example.org', Buffer.from('7')]]);
  /** A plugin that hangs takes calls and never answers them. */
  isHung = false;
  /** Replaces the message of an answer. */
  readonly answers = new Map<Method, Buffer>();
  readonly #directory: string;
  readonly #sessions = new Set<ServerHttp2Session>();
  #server: Http2Server | undefined;

  private constructor(directory: string) {
    this.#directory = directory;
    this.socket = path.join(directory, 'kms.sock');
  }

  /** It does not listen yet. */
  static async create(): Promise<TestKmsPlugin> {
    return new TestKmsPlugin(await mkdtemp(path.join(tmpdir(), 'holdfast-kms-')));
  }

  async listen(): Promise<void> {
    const server = createServer();
    server.on('session', (session) => {
      this.#sessions.add(session);
      session.once('close', () => this.#sessions.delete(session));
    });
    server.on('stream', (stream, headers) => this.#serve(stream, String(headers[':path'])));
    server.listen(this.socket);
    await once(server, 'listening');
    this.#server = server;
  }

  /** Ends its connections and its socket. */
  async leave(): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    this.#server = undefined;
    const closed = once(server, 'close');
    server.close();
    for (const session of this.#sessions) session.destroy();
    await closed;
  }

  async remove(): Promise<void> {
    await this.leave();
    await rm(this.#directory, { recursive: true, force: true });
  }

  count(method: Method): number {
    return this.calls.filter((call) => call.method === method).length;
  }

  #serve(stream: ServerHttp2Stream, asked: string): void {
    const chunks: Buffer[] = [];
    stream.on('error', () => stream.destroy());
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('end', () => {
      const [, method] = /^\/v2\.KeyManagementService\/(Status|Encrypt|Decrypt)$/.exec(asked) ?? [];
      const fields = new WireFields(Buffer.concat(chunks).subarray(5));
      this.calls.push({ method: method as Method, uid: fields.text(2), keyId: fields.text(3) });
      if (this.isHung) return;
      const answer = this.answers.get(method as Method) ?? this.#answer(method as Method, fields);
      if (answer === undefined) refuse(stream);
      else reply(stream, answer);
    });
  }

  #answer(method: Method, fields: WireFields): Buffer | undefined {
    if (method === 'Status') return statusMessage(this.version, this.healthz, this.keyId);
    if (method === 'Encrypt') {
      return encodeFields([
        [1, mixed(fields.bytes(1), this.keyId)],
        [2, this.keyId],
        [3, this.annotations],
      ]);
    }
    const isWhole = fields.map(4).size === this.annotations.size && fields.text(2) !== '';
    return isWhole ? encodeFields([[1, mixed(fields.bytes(1), fields.text(3))]]) : undefined;
  }
}

export const statusMessage = (version: string, healthz: string, keyId: string): Buffer =>
  encodeFields([
    [1, version],
    [2, healthz],
    [3, keyId],
  ]);

/** Its own inverse. */
function mixed(bytes: Buffer, keyId: string): Buffer {
  const pad = createHash('sha256').update(keyId).digest();
  return Buffer.from(bytes.map((byte, i) => byte ^ (pad[i % pad.length] ?? 0)));
}

function reply(stream: ServerHttp2Stream, message: Buffer): void {
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
  stream.end(framed(message));
}

function refuse(stream: ServerHttp2Stream): void {
  stream.respond({ ':status': 200, 'grpc-status': '5', 'grpc-message': 'unknown%20key' }, { endStream: true });
}
