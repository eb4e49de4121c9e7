import type { Ids } from '@holdfast/platform/ids';
import { type SentHeaders, sentValues } from './sent-headers.ts';

/** What a request is known by: the id that the client gave it, or one of its own, which the answer tells. */
export function auditIdOf(request: SentHeaders, ids: Pick<Ids, 'uuid'>): string {
  const sent = request.headers['audit-id'];
  if (typeof sent !== 'string' || sent === '') return ids.uuid();
  // The first is meant.
  const first = sent.includes(', ') ? (sentValues(request, 'audit-id')[0] ?? '') : sent;
  return first === '' ? ids.uuid() : first;
}
