import { type AccessAttributes, type ApiClient, bearerTokenOf, createAccessReviews } from '@holdfast/client';
import type { Clock } from '@holdfast/platform';
import { STATUS_ACCESS_KEPT_MAX, STATUS_ACCESS_KEPT_MS } from '../limits.ts';

export interface StatusAccessDeps {
  readonly client: ApiClient;
  readonly clock: Clock;
}

export type Verdict = 'allowed' | 'unauthenticated' | 'forbidden';

/** What a caller wants to read: a path, or what is known of a pod. */
export type StatusQuestion = string | { readonly namespace: string; readonly name: string };

/** Decides whether the owner of a bearer token may read this. Rejects when the API does not respond. */
export type StatusAccess = (asked: StatusQuestion, authorization: string | undefined) => Promise<Verdict>;

/** Asks the API for the caller's identity and its permission to `get` the path or the pod, as Kubernetes does. */
export function createStatusAccess(deps: StatusAccessDeps): StatusAccess {
  const reviews = createAccessReviews({ ...deps, keptMs: STATUS_ACCESS_KEPT_MS, keptMax: STATUS_ACCESS_KEPT_MAX });
  return async (asked, authorization) => {
    const token = bearerTokenOf(authorization);
    if (token === undefined) return 'unauthenticated';
    const { kind } = await reviews(token, attributesOf(asked));
    return kind;
  };
}

const attributesOf = (asked: StatusQuestion): AccessAttributes =>
  typeof asked === 'string'
    ? { nonResourceAttributes: { path: asked, verb: 'get' } }
    : { resourceAttributes: { group: '', version: 'v1', resource: 'pods', verb: 'get', ...asked } };
