import type { IncomingHttpHeaders } from 'node:http';
import { type StatusError, setOwn } from '@holdfast/machinery';
import { IMPERSONATE, joinValues } from '../http/header-values.ts';
import { headersTooLarge } from '../http/refusals.ts';
import { HEADERS_MAX } from '../limits.ts';

/** The parts of a request in both HTTP versions. */
export interface SentHeaders {
  readonly headers: IncomingHttpHeaders;
  /** Names and values in turn, as they were sent. */
  readonly rawHeaders: readonly string[];
}

/**
 * The answer to a request with more headers than are read. Over HTTP/1.1 Node drops the last ones, and a proxy that acts for its user would
 * act as itself. Over HTTP/2 it refuses such a request.
 */
export const refusalOfHeaders = ({ rawHeaders }: SentHeaders): StatusError | undefined =>
  rawHeaders.length > 2 * HEADERS_MAX ? headersTooLarge() : undefined;

/** Node joins the values of a header that was sent more than once; these are the values. */
export function sentValues({ rawHeaders }: SentHeaders, header: string): readonly string[] {
  return rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === header);
}

/** Lower-case names, each once. */
export function plainHeaders(sent: SentHeaders): Readonly<Record<string, string>> {
  const { headers: given } = sent;
  const impersonated = impersonationValues(sent);
  const headers: Record<string, string> = {};
  for (const name in given) {
    const value = given[name];
    if (value === undefined || name.startsWith(':')) continue;
    if (name.startsWith(IMPERSONATE)) setOwn(headers, name, joinValues(impersonated.get(name) ?? []));
    else setOwn(headers, name, Array.isArray(value) ? value.join(', ') : value);
  }
  // HTTP/2's equivalent of the host header.
  const authority = given[':authority'];
  if (headers['host'] === undefined && typeof authority === 'string') headers['host'] = authority;
  return headers;
}

/** In one pass: a client without a credential may send a thousand names. */
function impersonationValues({ rawHeaders }: SentHeaders): ReadonlyMap<string, readonly string[]> {
  const values = new Map<string, string[]>();
  let name = '';
  for (const [index, text] of rawHeaders.entries()) {
    if (index % 2 === 0) name = text.toLowerCase();
    else if (name.startsWith(IMPERSONATE)) {
      const known = values.get(name);
      if (known === undefined) values.set(name, [text]);
      else known.push(text);
    }
  }
  return values;
}
