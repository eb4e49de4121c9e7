import type { ApiRequest } from '@holdfast/client';
import { IMPERSONATE } from '../http/header-values.ts';

/** What was decoded once, as a path: a question mark in a name begins no query. */
export const encodePath = (path: string): string =>
  encodeURI(path).replace(/[?#]/g, (mark) => (mark === '?' ? '%3F' : '%23'));

/** A plus for a space is for forms: not everybody behind this server reads queries as such. */
export const queryText = (query: URLSearchParams): string =>
  query.size === 0 ? '' : `?${query.toString().replaceAll('+', '%20')}`;

/** Who asked, and for what: programs make links of it. */
export function forwardedHeaders({ path, headers, connection }: ApiRequest): Record<string, string> {
  const before = headers['x-forwarded-for'];
  const client = connection?.remoteAddress;
  const chain = [before, client].filter((each) => each !== undefined && each !== '').join(', ');
  return { 'x-forwarded-uri': encodePath(path), ...(chain === '' ? {} : { 'x-forwarded-for': chain }) };
}

/** The client's credentials stay here; its connection is its own, unless it changes the protocol. */
const KEPT_BACK: ReadonlySet<string> = new Set([
  'authorization',
  'keep-alive',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
]);

/**
 * A request that changes the protocol has no body, whatever it announces: somebody who does not agree would take the next request on
 * the connection for it.
 */
export function passedHeaders({ headers, body }: ApiRequest): Record<string, string> {
  const named = namedByConnection(headers);
  const passed = Object.entries(headers).filter(
    ([name]) =>
      !KEPT_BACK.has(name) &&
      !named.has(name) &&
      !name.startsWith(IMPERSONATE) &&
      (name !== 'content-length' || body !== undefined),
  );
  return Object.fromEntries(passed);
}

/** `connection` says which headers are for this connection alone, itself among them. One that changes the protocol goes on as it is. */
function namedByConnection({ connection = '', upgrade }: ApiRequest['headers']): ReadonlySet<string> {
  if (upgrade !== undefined) return new Set();
  return new Set(['connection', ...connection.split(',').map((name) => name.trim().toLowerCase())]);
}
