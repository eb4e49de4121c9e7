import type { KubeObject, ResourceRef, SubjectAccessReview, TokenReview } from '@holdfast/api';
import type { Clock } from '@holdfast/platform';
import type { ApiClient } from './port.ts';

export interface AccessReviewsOptions {
  readonly client: ApiClient;
  readonly clock: Clock;
  /** How long a verdict is cached, and the maximum number of cached verdicts. */
  readonly keptMs: number;
  readonly keptMax: number;
}

/** The identity in a certificate or a token. */
export interface Caller {
  readonly user: string;
  readonly groups: readonly string[];
}

export type AccessAttributes = Pick<SubjectAccessReview['spec'], 'resourceAttributes' | 'nonResourceAttributes'>;
export type AccessVerdict =
  | { readonly kind: 'allowed' | 'forbidden'; readonly caller: Caller }
  | { readonly kind: 'unauthenticated' };

/** Decides whether a caller, or the owner of a bearer token, may do this. Rejects when the API does not answer. */
export type AccessReviews = (credential: Caller | string, attributes: AccessAttributes) => Promise<AccessVerdict>;

/**
 * Asks the API for authentication (TokenReview) and authorization (SubjectAccessReview), as other Kubernetes servers
 * beside the API do.
 */
export function createAccessReviews({ client, clock, keptMs, keptMax }: AccessReviewsOptions): AccessReviews {
  const kept = new Map<string, { readonly untilMs: number; readonly verdict: Promise<AccessVerdict> }>();
  return async (credential, attributes) => {
    const key = JSON.stringify([credential, attributes]);
    const nowMs = clock.monotonic();
    const before = kept.get(key);
    if (before !== undefined && before.untilMs > nowMs) return before.verdict;
    const verdict = ask(client, credential, attributes);
    if (kept.size >= keptMax) kept.clear();
    kept.set(key, { untilMs: nowMs + keptMs, verdict });
    // A failed request must not stay in the cache.
    verdict.catch(() => kept.delete(key));
    return verdict;
  };
}

/** The token of an `Authorization` header. */
export const bearerTokenOf = (authorization: string | undefined): string | undefined =>
  /^bearer (.+)$/i.exec(authorization ?? '')?.[1];

async function ask(
  client: ApiClient,
  credential: Caller | string,
  attributes: AccessAttributes,
): Promise<AccessVerdict> {
  const caller = typeof credential === 'string' ? await ownerOf(client, credential) : credential;
  if (caller === undefined) return { kind: 'unauthenticated' };
  const { status } = await client.create(SUBJECT_ACCESS_REVIEWS, {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    metadata: {},
    spec: { user: caller.user, groups: [...caller.groups], ...attributes },
    status: { allowed: false },
  });
  return { kind: status?.allowed === true ? 'allowed' : 'forbidden', caller };
}

async function ownerOf(client: ApiClient, token: string): Promise<Caller | undefined> {
  const { status } = await client.create(TOKEN_REVIEWS, {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenReview',
    metadata: {},
    spec: { token },
    status: {},
  });
  const { username: user, groups = [] } = status?.user ?? {};
  return status?.authenticated === true && user !== undefined ? { user, groups } : undefined;
}

const review = <T extends KubeObject>(group: string, kind: string, plural: string): ResourceRef<T> => ({
  group,
  version: 'v1',
  kind,
  plural,
  namespaced: false,
});
const TOKEN_REVIEWS = review<TokenReview>('authentication.k8s.io', 'TokenReview', 'tokenreviews');
const SUBJECT_ACCESS_REVIEWS = review<SubjectAccessReview>(
  'authorization.k8s.io',
  'SubjectAccessReview',
  'subjectaccessreviews',
);
