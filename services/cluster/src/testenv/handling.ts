import { createHash, timingSafeEqual } from 'node:crypto';
import type { Holdings } from './holdings.ts';
import { openApiDocument } from './openapi.ts';
import { Problem, problemOf } from './problem.ts';
import { routeOf } from './routing.ts';
import { BODY, check } from './schema.ts';

/** A request of the control endpoint, without its transport. */
export interface ControlRequest {
  readonly method: string;
  /** As received, with the query. */
  readonly url: string;
  readonly authorization: string | undefined;
  /** Reads the body. Throws a `Problem` for one that is too large. */
  readonly text: () => Promise<string>;
}

export interface ControlAnswer {
  readonly status: number;
  /** Absent: no body. */
  readonly content?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface ControlDeps {
  readonly holdings: Holdings;
  readonly token: string;
  /** The address of the server, for the OpenAPI document. */
  readonly server: () => string;
  /** Receives what failed without a mistake of the client. */
  readonly onFailure: (error: unknown) => void;
}

/** Never throws: errors become answers. */
export async function handle(request: ControlRequest, deps: ControlDeps): Promise<ControlAnswer> {
  try {
    return await answerOf(request, deps);
  } catch (error) {
    const { status, message, nextStep, allow } = problemOf(error);
    if (status === 500) deps.onFailure(error);
    const headers = {
      ...(allow.length === 0 ? {} : { allow: allow.join(', ') }),
      ...(status === 401 ? { 'www-authenticate': 'Bearer' } : {}),
      ...(status === 413 ? { connection: 'close' } : {}),
    };
    return { status, content: { message, nextStep }, headers };
  }
}

async function answerOf(request: ControlRequest, deps: ControlDeps): Promise<ControlAnswer> {
  const { method } = request;
  const [path = '', query = ''] = request.url.split('?', 2);
  // It has no secrets, and generators of clients read it without a token.
  if (path === '/openapi.json' && method === 'GET') return { status: 200, content: openApiDocument(deps.server()) };
  if (!isAuthorized(request.authorization, deps.token)) {
    throw new Problem(401, 'the token is missing or wrong', 'Send the header `Authorization: Bearer <token>`.');
  }
  const { operation, id } = routeOf(method, path);
  if (query !== '') throw new Problem(400, 'no operation has query parameters', 'Send fields in a JSON body.');
  const body = bodyOf(await request.text());
  check(operation.body ?? NO_BODY, body, BODY);
  const content = await operation.act(deps.holdings, { id, body });
  return operation.answer === undefined ? { status: operation.status } : { status: operation.status, content };
}

/** An empty object or nothing. */
const NO_BODY = { type: 'object', properties: {}, additionalProperties: false } as const;

function bodyOf(text: string): unknown {
  if (text.trim() === '') return {};
  try {
    return JSON.parse(text);
  } catch {
    throw new Problem(400, `${BODY} is not JSON`, 'Send a JSON object, as in {"hollowNodes": 2}.');
  }
}

function isAuthorized(authorization: string | undefined, token: string): boolean {
  const [, given = ''] = /^Bearer +(\S+)$/i.exec(authorization ?? '') ?? [];
  return timingSafeEqual(digest(given), digest(token));
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
