import type { IncomingHttpHeaders } from 'node:http';
import type { Ids } from '@holdfast/platform/ids';

/** What a request is known by: the id that the client gave it, or one of its own, which the answer tells. */
export function auditIdOf({ 'audit-id': sent }: IncomingHttpHeaders, ids: Pick<Ids, 'uuid'>): string {
  return typeof sent === 'string' && sent !== '' ? sent : ids.uuid();
}
