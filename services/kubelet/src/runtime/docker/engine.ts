import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type Clock, describeError } from '@holdfast/platform';
import { nodeHttp } from '@holdfast/platform/http';
import { closedError, socketPath } from '../engine-errors.ts';
import { RuntimeError, type RuntimeErrorCode } from '../port.ts';
import type { EngineVersion } from './engine-types.ts';
import { ANSWER_MAX_BYTES, QUICK_DEADLINE_MS, STREAM_OPEN_MS } from './limits.ts';
import { apiVersion } from './versions.ts';

export interface EngineCall {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Without the version. Its parts are escaped. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Sent as a tar archive. */
  readonly archive?: Uint8Array;
  /** Until the head of the answer, and for an answer that is read as a whole until its end. Default: the quick one. */
  readonly deadlineMs?: number;
  /** The error code of a missed deadline. Default: `Unavailable`. */
  readonly onDeadline?: RuntimeErrorCode;
  readonly signal?: AbortSignal;
}

/** HTTP over a Unix socket, in the newest version that both sides know. Every request ends with `close`. */
export class Engine {
  readonly #clock: Clock;
  readonly #socket: string;
  readonly #closed = new AbortController();
  #version: Promise<EngineVersion> | undefined;

  constructor(endpoint: string, clock: Clock) {
    this.#clock = clock;
    this.#socket = socketPath(endpoint, { what: 'a Docker engine', example: '/path/to/docker.sock' });
  }

  get closed(): AbortSignal {
    return this.#closed.signal;
  }

  close(): void {
    this.#closed.abort(closedError());
  }

  /** Asked once, and again after the engine did not answer: it may have been replaced. */
  version(): Promise<EngineVersion> {
    this.#version ??= this.#askVersion();
    return this.#version;
  }

  async #askVersion(): Promise<EngineVersion> {
    try {
      const version = await this.#json<EngineVersion>({ method: 'GET', path: '/version' }, '');
      apiVersion(version);
      return version;
    } catch (error) {
      this.#version = undefined;
      throw error;
    }
  }

  /** The whole answer. `undefined` for one without content. */
  async json<T>(call: EngineCall): Promise<T> {
    return this.#json<T>(call, apiVersion(await this.version()));
  }

  async #json<T>(call: EngineCall, prefix: string): Promise<T> {
    const deadline = this.#deadline(call.deadlineMs ?? QUICK_DEADLINE_MS, call);
    try {
      const answer = await this.#answer({ ...call, signal: deadline.signal }, prefix);
      const text = await readText(answer);
      return (text === '' ? undefined : JSON.parse(text)) as T;
    } catch (error) {
      throw this.#failure(error, deadline.missed());
    } finally {
      deadline.cancel();
    }
  }

  /** The answer as a stream. The deadline holds until its head. */
  async open(call: EngineCall): Promise<IncomingMessage> {
    const prefix = apiVersion(await this.version());
    const deadline = this.#deadline(call.deadlineMs ?? STREAM_OPEN_MS, {});
    const ends = [this.closed, ...(call.signal === undefined ? [] : [call.signal])];
    const opening = new AbortController();
    const abort = (): void => opening.abort();
    deadline.signal.addEventListener('abort', abort, { once: true });
    try {
      return await this.#answer({ ...call, signal: AbortSignal.any([...ends, opening.signal]) }, prefix);
    } catch (error) {
      throw this.#failure(error, deadline.missed());
    } finally {
      deadline.signal.removeEventListener('abort', abort);
      deadline.cancel();
    }
  }

  /** The chunks of an answer. Without one for this long it counts as lost. */
  async *untilStalled(answer: IncomingMessage, stallMs: number): AsyncGenerator<Buffer> {
    const stalled = (): void => {
      const message = `${this.#socket} reported no progress within ${stallMs / 1000} s`;
      answer.destroy(new RuntimeError('Unavailable', message));
    };
    let timer = this.#clock.timer(stallMs, stalled);
    try {
      for await (const chunk of answer) {
        timer.cancel();
        yield chunk as Buffer;
        timer = this.#clock.timer(stallMs, stalled);
      }
    } finally {
      timer.cancel();
    }
  }

  /** A connection for raw bytes in both directions. */
  async hijack(call: EngineCall): Promise<Duplex> {
    const prefix = apiVersion(await this.version());
    const deadline = this.#deadline(STREAM_OPEN_MS, call);
    const headers = { connection: 'Upgrade', upgrade: 'tcp' };
    try {
      return await this.#upgraded({ ...call, headers, signal: deadline.signal }, prefix);
    } catch (error) {
      throw this.#failure(error, deadline.missed());
    } finally {
      deadline.cancel();
    }
  }

  #upgraded(call: EngineCall, prefix: string): Promise<Duplex> {
    const upgraded = Promise.withResolvers<Duplex>();
    const request = this.#request(call, prefix);
    request.once('upgrade', (_answer, socket: Duplex, head: Buffer) => {
      if (head.length > 0) socket.unshift(head);
      upgraded.resolve(socket);
    });
    request.once('response', (answer) => void refuse(answer).catch(upgraded.reject));
    request.on('error', upgraded.reject);
    send(request, call);
    return upgraded.promise;
  }

  async #answer(call: EngineCall, prefix: string): Promise<IncomingMessage> {
    const answered = Promise.withResolvers<IncomingMessage>();
    const request = this.#request(call, prefix);
    request.once('response', answered.resolve);
    request.on('error', answered.reject);
    send(request, call);
    const answer = await answered.promise;
    if ((answer.statusCode ?? 0) >= BAD_REQUEST) await refuse(answer);
    return answer;
  }

  #request({ method, path, query, headers, body, archive, signal }: EngineCall, prefix: string) {
    if (this.closed.aborted) throw closedError();
    const search = query === undefined ? '' : `?${new URLSearchParams(query).toString()}`;
    const type = body === undefined ? (archive === undefined ? undefined : 'application/x-tar') : 'application/json';
    return nodeHttp().request({
      socketPath: this.#socket,
      method,
      path: `${prefix}${path}${search}`,
      agent: false,
      headers: { host: 'docker', ...(type === undefined ? {} : { 'content-type': type }), ...headers },
      ...(signal === undefined ? {} : { signal }),
    });
  }

  #deadline(deadlineMs: number, { signal }: Pick<EngineCall, 'signal'>) {
    const ending = new AbortController();
    const timer = this.#clock.timer(deadlineMs, () => ending.abort(new Error('deadline')));
    const all = [this.closed, ending.signal, ...(signal === undefined ? [] : [signal])];
    return {
      signal: AbortSignal.any(all),
      missed: () => (ending.signal.aborted ? deadlineMs : undefined),
      cancel: () => timer.cancel(),
    };
  }

  #failure(error: unknown, missedMs: number | undefined): unknown {
    if (this.closed.aborted) return closedError();
    if (missedMs !== undefined) {
      this.#version = undefined;
      return new RuntimeError('Unavailable', `${this.#socket} did not answer within ${missedMs / 1000} s`, error);
    }
    if (error instanceof RuntimeError) return error;
    this.#version = undefined;
    return new RuntimeError('Unavailable', `no answer at ${this.#socket}: ${describeError(error)}`, error);
  }
}

const BAD_REQUEST = 400;

function send(request: ReturnType<ReturnType<typeof nodeHttp>['request']>, { body, archive }: EngineCall): void {
  if (body !== undefined) request.end(JSON.stringify(body));
  else request.end(archive);
}

async function readText(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer) {
    bytes += (chunk as Buffer).length;
    if (bytes > ANSWER_MAX_BYTES) throw new RuntimeError('Internal', 'the answer of the engine is too large');
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks).toString('utf8');
}

const CODES: ReadonlyMap<number, RuntimeErrorCode> = new Map([
  [404, 'NotFound'],
  [409, 'IllegalState'],
  [501, 'Unsupported'],
]);

/** Rejects always. */
async function refuse(answer: IncomingMessage): Promise<never> {
  const text = await readText(answer);
  const status = answer.statusCode ?? 0;
  const { message, code } = refusalOf(text);
  throw new RuntimeError(CODES.get(status) ?? code ?? 'Internal', message || `the engine answered ${status}`);
}

interface Refusal {
  readonly message?: string;
  readonly code?: RuntimeErrorCode;
}

/** Podman answers 500 also where a container is in the wrong state, and names the cause. */
function refusalOf(text: string): Refusal {
  try {
    const { message = '', cause } = JSON.parse(text) as { readonly message?: string; readonly cause?: string };
    return cause === WRONG_STATE ? { message, code: 'IllegalState' } : { message };
  } catch {
    return { message: text.trim() };
  }
}

const WRONG_STATE = 'container state improper';

/** A part of a path. */
export const part = (text: string): string => encodeURIComponent(text);

export const filtersOf = (filters: Readonly<Record<string, readonly string[]>>): string => JSON.stringify(filters);
