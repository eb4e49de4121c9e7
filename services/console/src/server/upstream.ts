import { type ApiHandler, type ApiRequest, type ApiResponse, TransportError } from '@holdfast/client';
import type { StreamingTransport } from '@holdfast/client/streaming';
import { describeError } from '@holdfast/platform/errors';
import { UPSTREAM_REQUESTS_MAX, UPSTREAM_REQUESTS_OF_USER_MAX } from '../limits.ts';
import { tooMany, unanswered, unreachable } from './answers.ts';

/** One of the API servers, asked by name. */
export interface NamedServer {
  /** `apiserver-1:6443` */
  readonly name: string;
  readonly handle: ApiHandler;
}

export interface Upstream {
  /** Whichever API server answers. */
  readonly handle: ApiHandler;
  readonly servers: readonly NamedServer[];
}

/**
 * The API servers of a console in a process of its own. All that one user has open at a time is bounded, so that nobody
 * takes the connections of the others.
 */
export function createUpstream(transport: StreamingTransport, servers: readonly string[]): Upstream {
  const places = new Places();
  const through =
    (ask: (request: ApiRequest) => Promise<ApiResponse>): ApiHandler =>
    async (request) => {
      const release = places.take(request.headers['authorization'] ?? '');
      try {
        return until(await ask(withClient(request)), release);
      } catch (error) {
        release();
        throw error instanceof TransportError ? failureOf(request, error) : error;
      }
    };
  return {
    handle: through((request) => transport.request(request)),
    servers: servers.map((server) => ({
      name: new URL(server).host,
      handle: through((request) => transport.requestAt(server, request)),
    })),
  };
}

/** Requests that have not ended, by user. */
class Places {
  readonly #taken = new Map<string, number>();
  #all = 0;

  /** Returns what gives the place back; it may be called more than once. */
  take(user: string): () => void {
    const own = this.#taken.get(user) ?? 0;
    if (own >= UPSTREAM_REQUESTS_OF_USER_MAX || this.#all >= UPSTREAM_REQUESTS_MAX) {
      throw tooMany('too many requests are open; close other pages of the console');
    }
    this.#taken.set(user, own + 1);
    this.#all += 1;
    let isTaken = true;
    return () => {
      if (!isTaken) return;
      isTaken = false;
      this.#all -= 1;
      const left = (this.#taken.get(user) ?? 1) - 1;
      if (left === 0) this.#taken.delete(user);
      else this.#taken.set(user, left);
    };
  }
}

/** The address of the person's machine, for the audit of the API. */
function withClient(request: ApiRequest): ApiRequest {
  const address = request.connection?.remoteAddress ?? '';
  return address === '' ? request : { ...request, headers: { ...request.headers, 'x-forwarded-for': address } };
}

/** The place is free when the last byte has passed, or when one side ends the connection. */
function until(response: ApiResponse, release: () => void): ApiResponse {
  const { body, upgrade } = response;
  if (upgrade !== undefined) {
    const passing: ApiResponse['upgrade'] = (client, head) => {
      client.once('close', release);
      upgrade(client, head);
    };
    return { ...response, upgrade: passing };
  }
  if (body.kind === 'stream') return { ...response, body: { ...body, chunks: followed(body.chunks, release) } };
  release();
  return response;
}

const followed = (chunks: AsyncIterable<Uint8Array>, release: () => void): AsyncIterable<Uint8Array> => ({
  [Symbol.asyncIterator]: () => {
    const inner = chunks[Symbol.asyncIterator]();
    return {
      next: async () => {
        try {
          const result = await inner.next();
          if (result.done === true) release();
          return result;
        } catch (error) {
          release();
          throw error;
        }
      },
      return: async () => {
        release();
        return (await inner.return?.()) ?? { done: true, value: undefined };
      },
    };
  },
});

function failureOf({ method }: ApiRequest, error: TransportError): Error {
  const reads = method === 'GET' || method === 'HEAD' || method === 'OPTIONS';
  return reads || !error.possiblySent ? unreachable(describeError(error)) : unanswered(describeError(error));
}
