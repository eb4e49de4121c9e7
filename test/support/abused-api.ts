import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import { Agent, request } from 'node:https';
import path from 'node:path';
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';
import type { HttpsLimits } from '@holdfast/apiserver/https';
import { createClusterPki } from '@holdfast/pki/cluster-pki';
import { createSystemClock } from '@holdfast/platform';
import { waitFor } from './wait.ts';

const MAIN = path.resolve(import.meta.dirname, 'abused-api-main.ts');
const clock = createSystemClock();
const DEADLINE_MS = 60_000;

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

interface Measured {
  readonly bytes: number;
  readonly connections: number;
  readonly cpuMs: number;
}

/** An API server in a process of its own, and what well-behaved and other clients do to it. */
export class AbusedApi implements AsyncDisposable {
  readonly port: number;
  readonly ca: string;
  readonly #child: ChildProcess;
  readonly #open = new Set<{ destroy(): void }>();
  readonly #agent: Agent;

  private constructor(child: ChildProcess, port: number, ca: string) {
    this.#child = child;
    this.port = port;
    this.ca = ca;
    this.#agent = new Agent({ keepAlive: true, maxSockets: 1, ca });
  }

  /** `heapMb`: what V8 may take for old objects; absent = what it takes by itself. */
  static async start(limits: Partial<HttpsLimits> = {}, heapMb?: number): Promise<AbusedApi> {
    const pki = await createClusterPki({ dnsNames: ['localhost'], ipAddresses: ['127.0.0.1'] }, clock.now());
    const heap = heapMb === undefined ? [] : [`--max-old-space-size=${heapMb}`];
    const execArgv = ['--disable-warning=ExperimentalWarning', '--expose-gc', ...heap];
    const child = fork(MAIN, [], { execArgv, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    const ready = answerOf(child);
    child.send({ certificate: pki.serverCertificate, key: pki.serverKey, clientCa: pki.caCertificate, limits });
    const { port } = (await ready) as { readonly port: number };
    return new AbusedApi(child, port, pki.caCertificate);
  }

  /** Bytes that the server holds, rubbish excluded. */
  async memory(): Promise<number> {
    return (await this.#measure()).bytes;
  }

  /**
   * Waits until the server's memory beyond `before` falls below the bound: freed buffers are returned some time after
   * their last use.
   */
  async givesBack(before: number, bound: number): Promise<void> {
    let held = 0;
    const isBelow = async (): Promise<boolean> => {
      held = (await this.memory()) - before;
      return held < bound;
    };
    try {
      await waitFor('the server gives its memory back', isBelow);
    } catch (error) {
      throw new Error(`${held} bytes are held, ${bound} are allowed`, { cause: error });
    }
  }

  /** Connections that are open in the server's view. */
  async connections(): Promise<number> {
    return (await this.#measure()).connections;
  }

  /** Time that the server has worked, measured before the rubbish of this question is collected. */
  async cpuMs(): Promise<number> {
    return (await this.#measure()).cpuMs;
  }

  async #measure(): Promise<Measured> {
    const answer = answerOf(this.#child);
    this.#child.send('measure');
    return (await answer) as Measured;
  }

  /** A normal client's request over its own connection. */
  call(method: string, url: string, body?: string, headers: Readonly<Record<string, string>> = {}): Promise<Reply> {
    // Node sets no length for the body of a DELETE: the server would take the body for another request.
    const length = { 'content-length': `${Buffer.byteLength(body ?? '')}` };
    const type = body === undefined ? {} : { 'content-type': 'application/json', ...length };
    const all = { authorization: 'Bearer admin', ...type, ...headers };
    const { promise, resolve, reject } = Promise.withResolvers<Reply>();
    const options = { host: '127.0.0.1', port: this.port, method, path: url, headers: all, agent: this.#agent };
    const sent = request(options, (response) => {
      response.setEncoding('utf8');
      let text = '';
      response.on('data', (chunk: string) => (text += chunk));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
      response.on('error', reject);
    });
    sent.on('error', reject);
    sent.end(body);
    return promise;
  }

  /** A TLS connection for hand-made bytes. */
  async connect(alpn: 'http/1.1' | 'h2' = 'http/1.1', options: ConnectionOptions = {}): Promise<RawConnection> {
    const socket = connect({
      host: '127.0.0.1',
      port: this.port,
      ca: this.ca,
      ALPNProtocols: [alpn],
      ...options,
    });
    const connection = new RawConnection(this.#tracked(socket));
    await once(socket, 'secureConnect');
    return connection;
  }

  /** An HTTP/2 session of an ordinary client. */
  async session(options: Parameters<typeof connectHttp2>[1] = {}): Promise<ClientHttp2Session> {
    const session = this.#tracked(connectHttp2(`https://127.0.0.1:${this.port}`, { ca: this.ca, ...options }));
    session.on('error', () => {});
    await once(session, 'connect');
    return session;
  }

  #tracked<T extends { destroy(): void }>(what: T): T {
    this.#open.add(what);
    return what;
  }

  /** Lets go of every client. */
  disconnectAll(): void {
    for (const each of this.#open) each.destroy();
    this.#open.clear();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.disconnectAll();
    this.#agent.destroy();
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await ended;
  }
}

function answerOf(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number | null, signal: string | null): void =>
      reject(new Error(`the API server ended: ${code ?? signal}`));
    child.once('exit', onExit);
    child.once('message', (message) => {
      child.off('exit', onExit);
      resolve(message);
    });
  });
}

/** A connection that keeps what arrived, and knows when the server ended it. */
export class RawConnection {
  readonly socket: TLSSocket;
  #received = Buffer.alloc(0);
  #ended = false;

  constructor(socket: TLSSocket) {
    this.socket = socket;
    socket.on('data', (chunk: Buffer) => {
      this.#received = Buffer.concat([this.#received, chunk]);
    });
    socket.on('error', () => {});
    socket.once('close', () => {
      this.#ended = true;
    });
  }

  get received(): Buffer {
    return this.#received;
  }

  get text(): string {
    return this.#received.toString('latin1');
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Resolves when the server has ended it. */
  async closed(): Promise<void> {
    await this.#until('the server ends the connection', ['close'], () => this.#ended);
  }

  /** Waits until the server took it, or ended the connection. */
  async write(bytes: Buffer | string): Promise<void> {
    if (this.socket.write(bytes)) return;
    const taken = (): boolean => this.#ended || !this.socket.writableNeedDrain;
    await this.#until('the server takes what is sent', ['drain', 'close'], taken);
  }

  async #until(what: string, events: readonly string[], reached: () => boolean): Promise<void> {
    if (reached()) return;
    const deadline = new AbortController();
    const timer = clock.timer(DEADLINE_MS, () => deadline.abort(new Error(`${what}: not within ${DEADLINE_MS} ms`)));
    try {
      await Promise.race(events.map((event) => once(this.socket, event, { signal: deadline.signal })));
    } catch {
      // An error of the connection is followed by its end.
      if (deadline.signal.aborted) throw deadline.signal.reason;
      await waitFor(what, reached);
    } finally {
      timer.cancel();
      // The events that did not come are no longer listened for.
      deadline.abort();
    }
  }
}

/** A client that works while others misbehave: counts what it got, and fails with the first thing that went wrong. */
export interface Bystander {
  /** Ends it; answers how many requests it made. */
  finish(): Promise<number>;
}

export function startBystander(api: AbusedApi): Bystander {
  let running = true;
  let served = 0;
  const work = async (): Promise<void> => {
    for (; running; served += 1) {
      const body = JSON.stringify({ metadata: { generateName: 'bystander-' } });
      const created = await expectStatus(201, api.call('POST', PATH, body));
      const path = `${PATH}/${JSON.parse(created.text).metadata.name}`;
      await expectStatus(200, api.call('GET', path));
      await expectStatus(200, api.call('DELETE', path));
      await clock.sleep(BYSTANDER_PAUSE_MS);
    }
  };
  const done = work();
  // `finish` reports the failure; until then it must not count as an unhandled rejection.
  done.catch(() => {});
  return {
    finish: async () => {
      running = false;
      await done;
      return served;
    },
  };
}

const BYSTANDER_PAUSE_MS = 10;
const PATH = '/api/v1/namespaces/default/configmaps';

async function expectStatus(status: number, call: Promise<Reply>): Promise<Reply> {
  const reply = await call;
  if (reply.status !== status) throw new Error(`a bystander got ${reply.status}: ${reply.text}`);
  return reply;
}

/** Runs an abuse beside a bystander: its work must succeed all the time, and have happened at all. */
export async function unharmed<T>(api: AbusedApi, abuse: () => Promise<T>): Promise<T> {
  const bystander = startBystander(api);
  try {
    return await abuse();
  } finally {
    const served = await bystander.finish();
    assert.ok(served > 0, 'the bystander was served');
  }
}

/** Returns the `Status` in a response; throws when there is none. */
export function statusOf(reply: { readonly text: string }): { readonly code: number; readonly reason?: string } {
  const body: unknown = JSON.parse(reply.text.slice(reply.text.indexOf('{')));
  assert.ok(typeof body === 'object' && body !== null && 'kind' in body && 'code' in body, reply.text);
  assert.equal(body.kind, 'Status');
  return body as { readonly code: number; readonly reason?: string };
}
