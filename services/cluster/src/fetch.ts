import type { ApiHandler, ApiRequest, ApiResponse, ResponseBody } from '@holdfast/client';
import { badOption } from './options.ts';

/** The `fetch` of the web platform for one user of a cluster: a path instead of an address, and no network. */
export type ClusterFetch = (path: string, init?: RequestInit) => Promise<Response>;

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

export function createFetch(handle: ApiHandler, token: string): ClusterFetch {
  return async (path, init) => {
    if (!path.startsWith('/')) {
      throw badOption(`${JSON.stringify(path)} is not a path of the API`, 'Begin it with /, as in /api/v1/pods.');
    }
    const request = new Request(new URL(path, 'https://cluster.invalid'), init);
    return toResponse(await handle(await toApiRequest(request, token)));
  };
}

async function toApiRequest(request: Request, token: string): Promise<ApiRequest> {
  const { pathname, searchParams } = new URL(request.url);
  const method = METHODS.find((each) => each === request.method);
  if (method === undefined) throw badOption(`the API has no method ${request.method}`, `Use ${METHODS.join(', ')}.`);
  const body = new Uint8Array(await request.arrayBuffer());
  const given = Object.fromEntries(request.headers);
  // A text without a type is JSON here, which is nearly always meant.
  const isUntyped = given['content-type']?.startsWith('text/plain') ?? false;
  return {
    method,
    path: decodeURIComponent(pathname),
    query: searchParams,
    headers: {
      'user-agent': 'fetch',
      authorization: `Bearer ${token}`,
      ...given,
      ...(isUntyped ? { 'content-type': 'application/json' } : {}),
    },
    ...(body.length === 0 ? {} : { body }),
    signal: request.signal,
  };
}

/** Statuses that have no body; the constructor of `Response` refuses one. */
const BODILESS: ReadonlySet<number> = new Set([204, 205, 304]);

function toResponse({ status, headers, body, upgrade }: ApiResponse): Response {
  if (upgrade !== undefined) {
    throw badOption(
      'fetch cannot carry a stream with two directions',
      'Use kubectl or a WebSocket with the kubeconfig.',
    );
  }
  const typed = { ...typeOf(body), ...headers };
  return new Response(BODILESS.has(status) ? null : bodyOf(body), { status, headers: typed });
}

const typeOf = (body: ResponseBody): Readonly<Record<string, string>> => {
  if (body.kind === 'text') return { 'content-type': body.contentType };
  return body.kind === 'json' || body.kind === 'watch' ? { 'content-type': 'application/json' } : {};
};

function bodyOf(body: ResponseBody): string | Uint8Array<ArrayBuffer> | ReadableStream | null {
  switch (body.kind) {
    case 'empty':
      return null;
    case 'text':
      return body.text;
    case 'json':
      return new Uint8Array(body.bytes());
    case 'watch':
      return ReadableStream.from(bytesOf(body.frames)) as ReadableStream<Uint8Array<ArrayBuffer>>;
    case 'stream':
      return ReadableStream.from(body.chunks) as ReadableStream<Uint8Array<ArrayBuffer>>;
  }
}

async function* bytesOf(frames: AsyncIterable<{ readonly bytes: () => Uint8Array }>): AsyncGenerator<Uint8Array> {
  for await (const frame of frames) yield frame.bytes();
}
