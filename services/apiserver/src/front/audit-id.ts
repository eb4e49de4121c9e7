import type { Ids } from '@holdfast/platform/ids';
import { type SentHeaders, sentValues } from './sent-headers.ts';

/** The id of a request: the client's, or a generated one that the response contains. */
export function auditIdOf(request: SentHeaders, ids: Pick<Ids, 'uuid'>): string {
  const sent = request.headers['audit-id'];
  if (typeof sent !== 'string' || sent === '') return ids.uuid();
  // The first is meant.
  const first = sent.includes(', ') ? (sentValues(request, 'audit-id')[0] ?? '') : sent;
  return first === '' ? ids.uuid() : first;
}
