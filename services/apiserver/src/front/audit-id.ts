import type { IncomingHttpHeaders } from 'node:http';
import type { Ids } from '@holdfast/platform/ids';

/** What both versions of HTTP know of a request. */
export interface SentHeaders {
  readonly headers: IncomingHttpHeaders;
  /** Names and values in turn, as they were sent. */
  readonly rawHeaders: readonly string[];
}

/** What a request is known by: the id that the client gave it, or one of its own, which the answer tells. */
export function auditIdOf({ headers, rawHeaders }: SentHeaders, ids: Pick<Ids, 'uuid'>): string {
  const sent = headers['audit-id'];
  if (typeof sent !== 'string' || sent === '') return ids.uuid();
  // Node joins the values of a header that was sent more than once; the first is meant.
  const first = sent.includes(', ') ? firstOf(rawHeaders) : sent;
  return first === '' ? ids.uuid() : first;
}

function firstOf(rawHeaders: readonly string[]): string {
  const at = rawHeaders.findIndex((name, index) => index % 2 === 0 && name.toLowerCase() === 'audit-id');
  return rawHeaders[at + 1] ?? '';
}
