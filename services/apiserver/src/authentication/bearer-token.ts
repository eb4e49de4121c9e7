import type { ApiRequest } from '@holdfast/client';
import { webSocketToken } from './websocket-token.ts';

/** The token of the header `authorization`, else that of a WebSocket. Throws 401 for one that cannot be read. */
export const bearerToken = (request: ApiRequest): string | undefined => headerToken(request) ?? webSocketToken(request);

/** The second word, as Kubernetes reads the header: what follows it does not count, and a second blank hides it. */
function headerToken(request: ApiRequest): string | undefined {
  const [scheme, token] = wordsOf(request);
  return scheme?.toLowerCase() === 'bearer' && token !== '' ? token : undefined;
}

/** Returns a warning to a client whose token was ignored. */
export function tokenWarning(request: ApiRequest): string | undefined {
  // Runs on every request.
  if (request.headers['authorization']?.includes('  ') !== true) return undefined;
  const [scheme, token, rest] = wordsOf(request);
  const isHidden = scheme?.toLowerCase() === 'bearer' && token === '' && rest !== undefined;
  return isHidden
    ? 'the provided Authorization header contains extra space before the bearer token, and is ignored'
    : undefined;
}

const wordsOf = ({ headers }: ApiRequest): readonly string[] => (headers['authorization'] ?? '').trim().split(' ');
