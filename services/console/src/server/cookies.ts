import type { ApiRequest } from '@holdfast/client';

/** Cookies know no ports: clusters of one machine would overwrite each other's. */
const nameOf = ({ headers }: ApiRequest): string =>
  `holdfast-ui-${/:(\d+)$/.exec(headers['host'] ?? '')?.[1] ?? '443'}`;

/** The API never gets it: browsers send it below /ui/ alone. */
const ATTRIBUTES = 'Path=/ui/; HttpOnly; Secure; SameSite=Strict';

export function sessionCookie(request: ApiRequest): string | undefined {
  const name = nameOf(request);
  for (const part of (request.headers['cookie'] ?? '').split(';')) {
    const [key, value] = part.trim().split('=', 2);
    if (key === name && value !== undefined && value !== '') return value;
  }
  return undefined;
}

export const setSessionCookie = (request: ApiRequest, id: string): string => `${nameOf(request)}=${id}; ${ATTRIBUTES}`;

export const endSessionCookie = (request: ApiRequest): string => `${nameOf(request)}=; Max-Age=0; ${ATTRIBUTES}`;
