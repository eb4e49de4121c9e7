import { type ApiClient, bearerTokenOf, createAccessReviews } from '@holdfast/client';
import type { Clock } from '@holdfast/platform';
import { STATUS_ACCESS_KEPT_MAX, STATUS_ACCESS_KEPT_MS } from '../limits.ts';

export interface StatusAccessDeps {
  readonly client: ApiClient;
  readonly clock: Clock;
}

export type Verdict = 'allowed' | 'unauthenticated' | 'forbidden';

/** Decides whether the owner of a bearer token may read this path. Rejects when the API does not respond. */
export type StatusAccess = (path: string, authorization: string | undefined) => Promise<Verdict>;

/** Asks the API for the caller's identity and its permission to `get` the path, as Kubernetes does. */
export function createStatusAccess(deps: StatusAccessDeps): StatusAccess {
  const reviews = createAccessReviews({ ...deps, keptMs: STATUS_ACCESS_KEPT_MS, keptMax: STATUS_ACCESS_KEPT_MAX });
  return async (path, authorization) => {
    const token = bearerTokenOf(authorization);
    if (token === undefined) return 'unauthenticated';
    const { kind } = await reviews(token, { nonResourceAttributes: { path, verb: 'get' } });
    return kind;
  };
}
