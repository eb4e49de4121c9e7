import type { ApiRequest } from '@holdfast/client';
import { withoutBearerProtocols } from '@holdfast/platform/websocket';
import { IMPERSONATE } from '../http/header-values.ts';

/** Encodes a decoded path: a question mark in a name does not begin a query. */
export const encodePath = (path: string): string =>
  encodeURI(path).replace(/[?#]/g, (mark) => (mark === '?' ? '%3F' : '%23'));

/** A plus for a space is for forms: not everybody behind this server reads queries as such. */
export const queryText = (query: URLSearchParams): string =>
  query.size === 0 ? '' : `?${query.toString().replaceAll('+', '%20')}`;

/** The original host and client, which programs use to compose links. */
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

/** Without a body no length is passed on: a server that does not upgrade would take the next request for the body. */
export function passedHeaders({ headers, body }: ApiRequest): Record<string, string> {
  const named = namedByConnection(headers);
  const passed = Object.entries(withoutBearerProtocols(headers)).filter(
    ([name]) =>
      !KEPT_BACK.has(name) &&
      !named.has(name) &&
      !name.startsWith(IMPERSONATE) &&
      (name !== 'content-length' || body !== undefined),
  );
  return Object.fromEntries(passed);
}

/** `connection` lists the headers for this connection only, including itself. An upgrade keeps it. */
function namedByConnection({ connection = '', upgrade }: ApiRequest['headers']): ReadonlySet<string> {
  if (upgrade !== undefined) return new Set();
  return new Set(['connection', ...connection.split(',').map((name) => name.trim().toLowerCase())]);
}
