import type { ApiHandler, ApiRequest, ApiResponse } from '@holdfast/client';
import { forbidden, malformed, SECURITY_HEADERS } from './answers.ts';
import { sessionCookie } from './cookies.ts';
import { requireOwnPage } from './own-page.ts';
import { requireSession } from './session.ts';
import type { Sessions } from './sessions.ts';
import { WRITE_HEADER, type Writes } from './writes.ts';

export const CLUSTER_PREFIX = '/ui/cluster';

/** What the page may say to the API. Nothing else of a browser's request gets there, its cookies least of all. */
const PASSED_HEADERS = ['accept', 'content-type', 'if-none-match', 'accept-encoding'];
/** Pages of pods and services would run in the origin of the console. */
const PROXIED = /\/(?:pods|services|nodes)\/[^/]+\/proxy(?:\/|$)/;

export interface ForwardDeps {
  readonly sessions: Sessions;
  readonly handle: ApiHandler;
}

export interface ForwardWritesDeps extends ForwardDeps {
  readonly writes: Writes;
}

/** A request to the API as the person of the session: the API server authenticates the token as if it came from kubectl. */
export async function forward(deps: ForwardWritesDeps, request: ApiRequest): Promise<ApiResponse> {
  const path = request.path.slice(CLUSTER_PREFIX.length);
  const id = request.headers[WRITE_HEADER];
  if (id === undefined) return forwardTo(deps, request, path);
  if (!WRITING_METHODS.has(request.method)) throw malformed(`the header ${WRITE_HEADER} is for changes`);
  const guard = requireOwnPage(request);
  requireSession(deps.sessions, request, guard);
  const sessionId = sessionCookie(request) ?? '';
  const writer = { session: guard, isOpen: () => deps.sessions.tokenOf(sessionId, guard) !== undefined };
  // Without the signal of its connection: a page whose connection breaks asks again for the answer.
  return deps.writes.once(writer, id, (signal) => forwardTo(deps, { ...request, signal }, path));
}

/** Answers to others may have no end, and are not kept. */
const WRITING_METHODS: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH', 'DELETE']);

export async function forwardTo(
  { sessions, handle }: ForwardDeps,
  request: ApiRequest,
  path: string,
): Promise<ApiResponse> {
  const guard = requireOwnPage(request);
  const token = requireSession(sessions, request, guard);
  if (PROXIED.test(path)) throw forbidden('pages behind the proxy of the API are not shown here');
  if (request.headers['upgrade'] !== undefined) throw forbidden('it opens no upgraded connections');
  const passed = PASSED_HEADERS.flatMap((name) => {
    const value = Object.hasOwn(request.headers, name) ? request.headers[name] : undefined;
    return value === undefined ? [] : [[name, value] as const];
  });
  const { method, query, body, signal, connection } = request;
  const response = await handle({
    method,
    path,
    query,
    headers: { ...Object.fromEntries(passed), 'user-agent': 'holdfast-console', authorization: `Bearer ${token}` },
    ...(body === undefined ? {} : { body }),
    ...(signal === undefined ? {} : { signal }),
    // Without the client certificate: the browser's must not replace the person who signed in.
    ...(connection === undefined ? {} : { connection: { remoteAddress: connection.remoteAddress } }),
  });
  return { ...response, headers: { ...response.headers, ...SECURITY_HEADERS } };
}
