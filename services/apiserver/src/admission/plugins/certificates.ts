import { API_CLIENT_SIGNER, type CertificateSigningRequest } from '@holdfast/api';
import { isReservedSubject } from '@holdfast/client';
import { deepEqual, forbiddenError } from '@holdfast/machinery';
import { MASTERS_GROUP } from '../../authentication/identity.ts';
import { isAllowed } from '../../authorization/chain.ts';
import { type RequestedSubject, subjectOfCsr } from '../certificate-request.ts';
import { type AdmissionDeps, type AdmissionPlugin, type AdmissionRequest, subjectOfRequest } from '../port.ts';

const GROUP = 'certificates.k8s.io';

/** The approver of a request needs the signer's permission. */
export const createCertificateApproval = (deps: AdmissionDeps): AdmissionPlugin => ({
  name: 'CertificateApproval',
  handles: (request) => isRequest(request) && request.operation === 'UPDATE' && request.subresource === 'approval',
  validate: (request) => requireRight(deps, request, 'approve'),
});

/** Only a signer, or who acts for it, hands out its certificates. */
export const createCertificateSigning = (deps: AdmissionDeps): AdmissionPlugin => ({
  name: 'CertificateSigning',
  handles: (request) => isRequest(request) && request.operation === 'UPDATE' && request.subresource === 'status',
  validate: async (request) => {
    const before = (request.old as CertificateSigningRequest | undefined)?.status ?? {};
    const after = (request.object as CertificateSigningRequest | undefined)?.status ?? {};
    const isSame =
      before.certificate === after.certificate && deepEqual(before.conditions ?? [], after.conditions ?? []);
    if (!isSame) await requireRight(deps, request, 'sign');
  },
});

/** Prevents a superuser certificate through ordinary approval. */
export const createCertificateSubjectRestriction = (_deps: AdmissionDeps): AdmissionPlugin => ({
  name: 'CertificateSubjectRestriction',
  handles: (request) => isRequest(request) && request.operation === 'CREATE' && request.subresource === '',
  validate: (request) => {
    const { spec } = request.object as CertificateSigningRequest;
    const subject = subjectOfCsr(spec.request);
    if (spec.signerName.startsWith(OWN_SIGNERS) && subject !== undefined) refuseSubject(request, subject);
    if (spec.signerName !== API_CLIENT_SIGNER) return;
    if (subject === undefined) {
      throw forbiddenError(subjectOfRequest(request), 'failed to parse CSR: asn1: structure error');
    }
    if (!subject.organizations.includes(MASTERS_GROUP)) return;
    const why = `use of ${API_CLIENT_SIGNER} signer with ${MASTERS_GROUP} group is not allowed`;
    throw forbiddenError(subjectOfRequest(request), why);
  },
});

/** Signers of the cluster's own authority, which kubelets trust. */
const OWN_SIGNERS = 'kubernetes.io/';

function refuseSubject(request: AdmissionRequest, subject: RequestedSubject): void {
  const why = refusalOfSubject(subject);
  if (why !== undefined) throw forbiddenError(subjectOfRequest(request), why);
}

function refusalOfSubject({ commonNames, organizations }: RequestedSubject): string | undefined {
  if (isReservedSubject(commonNames, organizations))
    return 'the subject is reserved for the API servers: kubelets trust it';
  // An approver may see another one than the servers that trust the certificate.
  return commonNames.length > 1 ? 'the subject has more than one common name' : undefined;
}

const isRequest = ({ definition }: AdmissionRequest): boolean =>
  definition.group === GROUP && definition.plural === 'certificatesigningrequests';

async function requireRight(deps: AdmissionDeps, request: AdmissionRequest, verb: 'approve' | 'sign'): Promise<void> {
  const signer = (request.old as CertificateSigningRequest).spec.signerName;
  const [domain = ''] = signer.split('/');
  for (const name of [signer, `${domain}/*`]) if (await may(deps, request, verb, name)) return;
  const why = `user not permitted to ${verb} requests with signerName ${JSON.stringify(signer)}`;
  throw forbiddenError(subjectOfRequest(request), why);
}

async function may(deps: AdmissionDeps, { user }: AdmissionRequest, verb: string, name: string): Promise<boolean> {
  const reason = await isAllowed(deps.access.authorizers, user, {
    kind: 'resource',
    path: '',
    verb,
    group: GROUP,
    version: '*',
    namespace: '',
    resource: 'signers',
    name,
    subresource: '',
    rest: '',
  });
  return reason !== undefined;
}
