import assert from 'node:assert/strict';
import { type ClientHttp2Session, connect, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http2';
import { createInterface } from 'node:readline';
import { decodeProtobufObject, encodeObject } from '@holdfast/api/protobuf';
import { loadKubeConfig } from './javascript-client.ts';

const PROTOBUF = 'application/vnd.kubernetes.protobuf';
const JSON_TYPE = 'application/json';
export const JSON_PATCH = 'application/json-patch+json';
export const MERGE_PATCH = 'application/merge-patch+json';
export const STRATEGIC_PATCH = 'application/strategic-merge-patch+json';
export const APPLY_PATCH = 'application/apply-patch+yaml';

export type Fields = Readonly<Record<string, unknown>>;

export const valueAt = (object: unknown, path: string): unknown =>
  path.split('.').reduce((value, key) => (value as Fields | undefined)?.[key], object);

export class GoAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;

  constructor(headers: IncomingHttpHeaders, bytes: Buffer) {
    this.status = Number(headers[':status']);
    this.headers = headers;
    this.bytes = bytes;
  }

  get object(): Fields {
    if (this.headers['content-type']?.startsWith(PROTOBUF) === true) return decodeProtobufObject(this.bytes);
    return JSON.parse(this.bytes.toString()) as Fields;
  }

  /** The value at a dotted path of the object: `spec.versions.0.name`. */
  at(path: string): unknown {
    return valueAt(this.object, path);
  }

  /** The error text of a Go program. */
  get message(): string {
    return String(this.at('message'));
  }

  get names(): readonly string[] {
    return (this.at('items') as readonly { metadata: { name: string } }[]).map(({ metadata }) => metadata.name);
  }
}

export interface GoWatchEvent {
  readonly type: string;
  readonly object: { readonly metadata: { readonly name: string } } & Fields;
}

export interface GoWatch {
  readonly events: readonly GoWatchEvent[];
  close(): void;
}

interface Sent {
  readonly body?: Uint8Array | string;
  readonly headers?: OutgoingHttpHeaders;
}

/** Calls the API as Go programs do: over HTTP/2, typed clients in protobuf, dynamic ones in JSON. */
export class GoClient implements AsyncDisposable {
  readonly #session: ClientHttp2Session;
  readonly #authorization: OutgoingHttpHeaders;

  private constructor(session: ClientHttp2Session, authorization: OutgoingHttpHeaders) {
    this.#session = session;
    this.#authorization = authorization;
  }

  static async connect(kubeconfig: string): Promise<GoClient> {
    const config = loadKubeConfig(kubeconfig);
    const options: { headers?: OutgoingHttpHeaders; ca?: string; cert?: string; key?: string } = {};
    await config.applyToHTTPSOptions(options);
    const { headers = {}, ...tls } = options;
    const session = connect(config.getCurrentCluster()?.server ?? '', tls);
    await new Promise<void>((resolve, reject) => {
      session.once('connect', () => resolve());
      session.once('error', reject);
    });
    // The stream reports the error to the waiting caller.
    session.on('error', () => session.destroy());
    return new GoClient(session, headers);
  }

  /** As a typed client: sends and accepts protobuf. */
  typed(method: string, path: string, object?: object): Promise<GoAnswer> {
    const accept = `${PROTOBUF}, */*`;
    const sent = object ?? (method === 'DELETE' ? deleteOptionsFor(path) : undefined);
    if (sent === undefined) return this.send(method, path, { headers: { accept } });
    const body = encodeObject(sent);
    assert.ok(body !== undefined, 'the kind has a form in protobuf');
    return this.send(method, path, { body, headers: { accept, 'content-type': PROTOBUF } });
  }

  /** As a dynamic client. */
  dynamic(method: string, path: string, object?: object): Promise<GoAnswer> {
    if (object === undefined) return this.send(method, path);
    return this.send(method, path, { body: JSON.stringify(object), headers: { 'content-type': JSON_TYPE } });
  }

  patch(path: string, type: string, body: string | object): Promise<GoAnswer> {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    return this.send('PATCH', path, { body: text, headers: { 'content-type': type } });
  }

  send(method: string, path: string, { body, headers = {} }: Sent = {}): Promise<GoAnswer> {
    const head = { ':method': method, ':path': path, accept: JSON_TYPE, ...this.#authorization, ...headers };
    const stream = this.#session.request(head, { endStream: body === undefined });
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = [];
      let answered: IncomingHttpHeaders = {};
      stream.on('response', (given) => (answered = given));
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => resolve(new GoAnswer(answered, Buffer.concat(chunks))));
      stream.on('error', reject);
      stream.on('close', () => reject(new Error(`${method} ${path}: the stream was closed before the answer ended`)));
      if (body !== undefined) stream.end(body);
    });
  }

  /** Open when it resolves: it misses nothing that is written afterwards. */
  async watch(path: string): Promise<GoWatch> {
    const stream = this.#session.request({ ':path': path, accept: JSON_TYPE, ...this.#authorization });
    const events: GoWatchEvent[] = [];
    stream.on('error', () => stream.destroy());
    const opened = new Promise<IncomingHttpHeaders>((resolve, reject) => {
      stream.once('response', resolve);
      stream.once('close', () => reject(new Error(`GET ${path}: the watch was closed before it was answered`)));
    });
    createInterface({ input: stream }).on('line', (line) => events.push(JSON.parse(line) as GoWatchEvent));
    assert.equal((await opened)[':status'], 200);
    return { events, close: () => stream.close() };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#session.destroy();
  }
}

/** Go clients send the options of a deletion as a kind of the group that they delete from. */
function deleteOptionsFor(path: string): object {
  const [, api, group, version] = path.split('/');
  return { kind: 'DeleteOptions', apiVersion: api === 'api' ? group : `${group}/${version}` };
}

/** The answer, which must have this status. */
export async function must(status: number, call: Promise<GoAnswer>): Promise<GoAnswer> {
  const answer = await call;
  assert.equal(answer.status, status, answer.bytes.toString());
  return answer;
}
