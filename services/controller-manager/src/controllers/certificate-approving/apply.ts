import { CERTIFICATE_SIGNING_REQUESTS, type CertificateSigningRequest, SUBJECT_ACCESS_REVIEWS } from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { unlessChanged } from '../../common/writes.ts';
import type { SelfApproval } from './decide.ts';

/** Decides whether the sender of a request has the permission that approves it. */
export type MayApproveItself = (request: CertificateSigningRequest, approval: SelfApproval) => Promise<boolean>;

/** Asks the API servers. */
export const askAccess =
  (client: ApiClient): MayApproveItself =>
  async ({ spec }, { subresource }) => {
    const { username: user = '', uid, groups, extra } = spec;
    const review = await client.create(SUBJECT_ACCESS_REVIEWS, {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      metadata: {},
      status: { allowed: false },
      spec: {
        user,
        ...(uid === undefined ? {} : { uid }),
        ...(groups === undefined ? {} : { groups }),
        ...(extra === undefined ? {} : { extra }),
        resourceAttributes: {
          group: 'certificates.k8s.io',
          resource: 'certificatesigningrequests',
          verb: 'create',
          version: '*',
          subresource,
        },
      },
    });
    return review.status.allowed;
  };

/** Against the revision that was judged: a request that was denied meanwhile stays denied. */
export async function writeApproval(client: ApiClient, request: CertificateSigningRequest): Promise<void> {
  await unlessChanged(() => client.updateSubresource(CERTIFICATE_SIGNING_REQUESTS, request, 'approval'));
}
