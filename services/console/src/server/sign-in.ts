import { type ApiHandler, type ApiRequest, type ApiResponse, jsonOf, wholeAnswer } from '@holdfast/client';
import { SIGN_IN_BYTES_MAX } from '../limits.ts';
import { json, malformed, notAllowed, SECURITY_HEADERS, signedOut, tooMany } from './answers.ts';
import { endSessionCookie, sessionCookie, setSessionCookie } from './cookies.ts';
import { requireOwnPage } from './own-page.ts';
import { requireSession } from './session.ts';
import { linkPath, type Sessions } from './sessions.ts';

/** What is here beside the API. */
export interface Offers {
  readonly play: boolean;
  /** Names of API servers that can be asked one by one; absent = there is one. */
  readonly servers?: readonly string[];
  /** The time of a cluster that does not live on the clock of its machine, in milliseconds. */
  readonly now?: number;
}

export interface SignInDeps {
  readonly sessions: Sessions;
  readonly handle: ApiHandler;
  /** What is here beside the API, for the page. */
  readonly offers?: Offers | undefined;
}

/** `POST /ui/session` signs in with a code or a token, `DELETE` signs out, `GET` says what is here. */
export async function answerSession(deps: SignInDeps, request: ApiRequest): Promise<ApiResponse> {
  const guard = requireOwnPage(request);
  if (request.method === 'POST') return signIn(deps, request);
  if (request.method === 'GET') {
    requireSession(deps.sessions, request, guard);
    return json(200, deps.offers ?? {});
  }
  if (request.method !== 'DELETE') throw notAllowed();
  const id = sessionCookie(request);
  if (id !== undefined) deps.sessions.close(id);
  return {
    status: 204,
    headers: { ...SECURITY_HEADERS, 'set-cookie': endSessionCookie(request) },
    body: { kind: 'empty' },
  };
}

async function signIn({ sessions, handle }: SignInDeps, request: ApiRequest): Promise<ApiResponse> {
  const { code, attempt, token: given } = readSignIn(request);
  const token = code === undefined ? given : sessions.redeem(code, attempt);
  if (token === undefined) throw signedOut('This link was used before or is too old. `holdfast ui` prints a new one.');
  const { id, guard } = sessions.open(token, await userOf(handle, token));
  return json(201, { guard }, { 'set-cookie': setSessionCookie(request, id) });
}

function readSignIn({ body }: ApiRequest): Record<'code' | 'attempt' | 'token', string | undefined> {
  const text = typeof body === 'string' ? body : Buffer.from(body ?? []).toString();
  if (text.length > SIGN_IN_BYTES_MAX) throw malformed('a sign-in is smaller than this');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw malformed('a sign-in is a JSON object with "code" or "token"');
  }
  const field = (name: string): string | undefined => {
    const found: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
    return typeof found === 'string' && found !== '' ? found : undefined;
  };
  return { code: field('code'), attempt: field('attempt'), token: field('token')?.trim() };
}

/** The API server decides: it names the user of the token. Throws for a token that it does not know. */
async function userOf(handle: ApiHandler, token: string): Promise<string> {
  const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
  const answer = await handle({
    method: 'POST',
    path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
    query: new URLSearchParams(),
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify(review),
  });
  const response = await wholeAnswer(answer);
  const found = response.status === 201 ? ((await jsonOf(response)) as Review).status?.userInfo : undefined;
  // Anonymous users are not.
  if (found?.groups?.includes('system:authenticated') === true) return found.username ?? '';
  throw signedOut('The API server does not accept this token.');
}

interface Review {
  readonly status?: { readonly userInfo?: { readonly username?: string; readonly groups?: readonly string[] } };
}

/** `POST /ui/link` with a bearer token: a one-time code for a browser of the same person. */
export async function answerLink({ sessions, handle }: SignInDeps, request: ApiRequest): Promise<ApiResponse> {
  if (request.method !== 'POST') throw notAllowed();
  const token = /^Bearer (\S+)$/.exec(request.headers['authorization'] ?? '')?.[1];
  if (token === undefined) throw signedOut('a link needs a bearer token');
  const code = sessions.issueCode(token, await userOf(handle, token));
  if (code === undefined) throw tooMany('too many links wait to be used; they end after ten minutes');
  return json(201, { path: linkPath(code) });
}
