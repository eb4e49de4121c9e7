import type { ApiRequest } from '@holdfast/client';
import { signedOut } from './answers.ts';
import { sessionCookie } from './cookies.ts';
import type { Sessions } from './sessions.ts';

/** The token of the person who asks. Throws 401 without a session. */
export function requireSession(sessions: Sessions, request: ApiRequest, guard: string): string {
  const id = sessionCookie(request);
  const token = id === undefined ? undefined : sessions.tokenOf(id, guard);
  if (token === undefined) throw signedOut('The session has ended. Sign in again.');
  return token;
}
