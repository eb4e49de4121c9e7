import { API_CLIENT_SIGNER, KUBELET_CLIENT_SIGNER, LEGACY_SIGNER } from '@holdfast/api';
import { isReservedSubject } from '@holdfast/client';
import type { RequestedIdentity } from './port.ts';

export const KUBELET_SERVING = 'kubernetes.io/kubelet-serving';

/** Signers whose certificates this cluster hands out. */
export const SIGNERS: ReadonlySet<string> = new Set([
  API_CLIENT_SIGNER,
  KUBELET_CLIENT_SIGNER,
  KUBELET_SERVING,
  LEGACY_SIGNER,
]);

const MASTERS = 'system:masters';
const NODES = 'system:nodes';
const NODE_PREFIX = 'system:node:';

/** Why the signer refuses the request, in words of Kubernetes; `undefined` = it does not. */
export function refusalOf(signer: string, identity: RequestedIdentity, usages: readonly string[]): string | undefined {
  if (isReservedSubject([identity.commonName], identity.organizations))
    return 'subject is reserved for the API servers';
  switch (signer) {
    case API_CLIENT_SIGNER:
      return apiClientRefusal(identity, usages);
    case KUBELET_CLIENT_SIGNER:
      return kubeletClientRefusal(identity, usages);
    case KUBELET_SERVING:
      return kubeletServingRefusal(identity, usages);
    default:
      return undefined;
  }
}

/** Admission refuses superusers as well; here the subject is the one that the certificate will have. */
function apiClientRefusal({ organizations }: RequestedIdentity, usages: readonly string[]): string | undefined {
  if (organizations.includes(MASTERS)) return `use of ${API_CLIENT_SIGNER} signer with ${MASTERS} group is not allowed`;
  const allowed = ['digital signature', 'key encipherment', 'client auth'];
  const other = usages.find((usage) => !allowed.includes(usage));
  if (other !== undefined) return `invalid usage for client certificate: ${other}`;
  return usages.includes('client auth') ? undefined : 'missing required usage for client certificate: client auth';
}

/** First what a node may not name, then who it is, then what for. */
export function kubeletClientRefusal(identity: RequestedIdentity, usages: readonly string[]): string | undefined {
  return (
    organizationRefusal(identity) ??
    (identity.dnsNames.length > 0 ? 'DNS subjectAltNames are not allowed' : undefined) ??
    (identity.emailAddresses.length > 0 ? 'Email subjectAltNames are not allowed' : undefined) ??
    (identity.ipAddresses.length > 0 ? 'IP subjectAltNames are not allowed' : undefined) ??
    (identity.uris.length > 0 ? 'URI subjectAltNames are not allowed' : undefined) ??
    nameRefusal(identity) ??
    usagesRefusal(usages, 'client auth')
  );
}

function kubeletServingRefusal(identity: RequestedIdentity, usages: readonly string[]): string | undefined {
  const isNameless = identity.dnsNames.length + identity.ipAddresses.length === 0;
  return (
    organizationRefusal(identity) ??
    (isNameless ? 'DNS or IP subjectAltName is required' : undefined) ??
    (identity.emailAddresses.length > 0 ? 'Email subjectAltNames are not allowed' : undefined) ??
    (identity.uris.length > 0 ? 'URI subjectAltNames are not allowed' : undefined) ??
    usagesRefusal(usages, 'server auth') ??
    nameRefusal(identity)
  );
}

const organizationRefusal = ({ organizations }: RequestedIdentity): string | undefined =>
  organizations.length === 1 && organizations[0] === NODES ? undefined : `subject organization is not ${NODES}`;

const nameRefusal = ({ commonName }: RequestedIdentity): string | undefined =>
  commonName.startsWith(NODE_PREFIX) ? undefined : `subject common name does not begin with ${NODE_PREFIX}`;

/** A key that is not RSA cannot encipher: that usage may be left out. */
function usagesRefusal(usages: readonly string[], purpose: string): string | undefined {
  const required = [purpose, 'digital signature', 'key encipherment'].sort();
  const given = new Set(usages);
  const isKnown = usages.every((usage) => required.includes(usage));
  const isComplete = given.has(purpose) && given.has('digital signature');
  return isKnown && isComplete ? undefined : `usages did not match [${required.join(' ')}]`;
}
