import type { CertificateSigningRequest } from '@holdfast/api';
import { formatTime } from '@holdfast/platform';
import type { IssueOptions, RequestedIdentity } from '../../certificates/port.ts';
import { refusalOf, SIGNERS } from '../../certificates/rules.ts';
import {
  CERTIFICATE_BACKDATE_MS,
  CERTIFICATE_SHORT_MS,
  CERTIFICATE_VALID_MIN_MS,
  CERTIFICATE_VALID_MS,
} from '../../limits.ts';

/** Approved, ours to sign, and neither signed nor failed. */
export function isDue({ spec, status }: CertificateSigningRequest): boolean {
  const has = (wanted: string): boolean =>
    (status.conditions ?? []).some(({ type, status: value }) => type === wanted && value === 'True');
  return SIGNERS.has(spec.signerName) && has('Approved') && !has('Failed') && (status.certificate ?? '') === '';
}

export type SigningAction =
  | { readonly type: 'fail'; readonly request: CertificateSigningRequest }
  | { readonly type: 'issue'; readonly options: IssueOptions };

export function decide(request: CertificateSigningRequest, identity: RequestedIdentity, now: number): SigningAction {
  const { signerName, usages = [], expirationSeconds } = request.spec;
  const message = refusalOf(signerName, identity, usages);
  if (message !== undefined) return { type: 'fail', request: failed(request, message, now) };
  const validMs = validityOf(expirationSeconds);
  const notBeforeMs = now - CERTIFICATE_BACKDATE_MS;
  // A short life is not made shorter for clocks that are behind.
  const notAfterMs = (validMs < CERTIFICATE_SHORT_MS ? now : notBeforeMs) + validMs;
  return { type: 'issue', options: { usages, notBeforeMs, notAfterMs } };
}

function validityOf(expirationSeconds: number | undefined): number {
  if (expirationSeconds === undefined) return CERTIFICATE_VALID_MS;
  return Math.min(Math.max(expirationSeconds * 1000, CERTIFICATE_VALID_MIN_MS), CERTIFICATE_VALID_MS);
}

function failed(request: CertificateSigningRequest, message: string, now: number): CertificateSigningRequest {
  const time = formatTime(now);
  const condition = {
    type: 'Failed',
    status: 'True',
    reason: 'SignerValidationFailure',
    message,
    lastUpdateTime: time,
    lastTransitionTime: time,
  };
  return { ...request, status: { ...request.status, conditions: [...(request.status.conditions ?? []), condition] } };
}

/** The object contains it as base64. */
export const signed = (request: CertificateSigningRequest, pem: string): CertificateSigningRequest => ({
  ...request,
  status: { ...request.status, certificate: Buffer.from(pem).toString('base64') },
});
