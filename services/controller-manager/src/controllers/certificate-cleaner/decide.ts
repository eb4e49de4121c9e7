import type { CertificateSigningRequest } from '@holdfast/api';
import { createdAt, timeOf } from '../../common/meta.ts';
import { CERTIFICATE_REQUEST_DONE_MS, CERTIFICATE_REQUEST_PENDING_MS } from '../../limits.ts';

/** Returns when the request is no longer needed: soon after a decision, later without one. */
export function expiresAt({ metadata, status }: CertificateSigningRequest): number | undefined {
  const conditions = status.conditions ?? [];
  const answer = conditions.find(({ type }) => type === 'Denied' || type === 'Failed');
  const approval = conditions.find(({ type }) => type === 'Approved');
  const isIssued = (status.certificate ?? '') !== '';
  const done = answer ?? (isIssued ? approval : undefined);
  if (done !== undefined) return timeOf(done.lastUpdateTime) + CERTIFICATE_REQUEST_DONE_MS;
  // Approved and not issued: its signer may still be at work.
  return conditions.length === 0 ? createdAt({ metadata }) + CERTIFICATE_REQUEST_PENDING_MS : undefined;
}
