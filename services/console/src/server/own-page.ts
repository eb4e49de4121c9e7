import type { ApiRequest } from '@holdfast/client';
import { forbidden } from './answers.ts';

/** The guard of the session, or `sign-in`. Other sites cannot send it: it would need a permission (CORS) that nobody gives. */
export const GUARD_HEADER = 'x-holdfast-console';

/** Refuses what pages of other origins send. Each of the three checks alone stops a cross-site request of today's browsers. */
export function requireOwnPage({ headers }: ApiRequest): string {
  const guard = headers[GUARD_HEADER];
  if (guard === undefined || guard === '') throw forbidden(`the header ${GUARD_HEADER} is missing`);
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin') throw forbidden('only the console itself may ask this');
  const origin = headers['origin'];
  if (origin !== undefined && origin !== `https://${headers['host'] ?? ''}`) {
    throw forbidden('only the console itself may ask this');
  }
  return guard;
}
