import type { KubeObject, ResourceRef, SubjectAccessReview, TokenReview } from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import type { Clock } from '@holdfast/platform';
import { STATUS_ACCESS_KEPT_MAX, STATUS_ACCESS_KEPT_MS } from '../limits.ts';

export interface StatusAccessDeps {
  readonly client: ApiClient;
  readonly clock: Clock;
}

export type Verdict = 'allowed' | 'unauthenticated' | 'forbidden';

/** Whether the owner of a bearer token may read this path. Rejects when the API does not answer. */
export type StatusAccess = (path: string, authorization: string | undefined) => Promise<Verdict>;

/** Asks the API who the caller is and whether that one may `get` the path, as Kubernetes does; answers are kept for a moment. */
export function createStatusAccess({ client, clock }: StatusAccessDeps): StatusAccess {
  const kept = new Map<string, { readonly untilMs: number; readonly verdict: Promise<Verdict> }>();
  return async (path, authorization) => {
    const token = /^bearer (.+)$/i.exec(authorization ?? '')?.[1];
    if (token === undefined) return 'unauthenticated';
    const key = `${path} ${token}`;
    const nowMs = clock.monotonic();
    const before = kept.get(key);
    if (before !== undefined && before.untilMs > nowMs) return before.verdict;
    const verdict = ask(client, token, path);
    if (kept.size >= STATUS_ACCESS_KEPT_MAX) kept.clear();
    kept.set(key, { untilMs: nowMs + STATUS_ACCESS_KEPT_MS, verdict });
    // An answer that did not come is asked for again.
    verdict.catch(() => kept.delete(key));
    return verdict;
  };
}

async function ask(client: ApiClient, token: string, path: string): Promise<Verdict> {
  const reviewed = await client.create(TOKEN_REVIEWS, {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenReview',
    metadata: {},
    spec: { token },
    status: {},
  });
  const { username: user, groups = [] } = reviewed.status?.user ?? {};
  if (reviewed.status?.authenticated !== true || user === undefined) return 'unauthenticated';
  const { status } = await client.create(SUBJECT_ACCESS_REVIEWS, {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    metadata: {},
    spec: { user, groups: [...groups], nonResourceAttributes: { path, verb: 'get' } },
    status: { allowed: false },
  });
  return status?.allowed === true ? 'allowed' : 'forbidden';
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
