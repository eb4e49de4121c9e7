import {
  type CertificateSigningRequest,
  type CertificateSigningRequestCondition,
  KUBELET_CLIENT_SIGNER,
} from '@holdfast/api';
import { formatTime } from '@holdfast/platform';
import type { RequestedIdentity } from '../../certificates/port.ts';
import { kubeletClientRefusal } from '../../certificates/rules.ts';

/** A right by whose possession a request approves itself. */
export interface SelfApproval {
  /** A subresource of `certificatesigningrequests`, with the verb `create`. */
  readonly subresource: 'selfnodeclient' | 'nodeclient';
  readonly message: string;
}

const OWN: SelfApproval = {
  subresource: 'selfnodeclient',
  message: 'Auto approving self kubelet client certificate after SubjectAccessReview.',
};
const ANY: SelfApproval = {
  subresource: 'nodeclient',
  message: 'Auto approving kubelet client certificate after SubjectAccessReview.',
};

/** True when the request has no decision yet and is of an automatically approvable kind. */
export function isOpen({ spec, status }: CertificateSigningRequest): boolean {
  const isDecided = (status.conditions ?? []).some(({ type }) => type === 'Approved' || type === 'Denied');
  return spec.signerName === KUBELET_CLIENT_SIGNER && !isDecided && (status.certificate ?? '') === '';
}

/** Returns sufficient permissions in the order of the checks: a node for itself, or any node. */
export function selfApprovals(
  { spec }: CertificateSigningRequest,
  identity: RequestedIdentity,
): readonly SelfApproval[] {
  if (kubeletClientRefusal(identity, spec.usages ?? []) !== undefined) return [];
  return spec.username === identity.commonName ? [OWN, ANY] : [ANY];
}

export function approved(
  request: CertificateSigningRequest,
  { message }: SelfApproval,
  now: number,
): CertificateSigningRequest {
  const time = formatTime(now);
  const condition: CertificateSigningRequestCondition = {
    type: 'Approved',
    status: 'True',
    reason: 'AutoApproved',
    message,
    lastUpdateTime: time,
    lastTransitionTime: time,
  };
  return { ...request, status: { ...request.status, conditions: [...(request.status.conditions ?? []), condition] } };
}
