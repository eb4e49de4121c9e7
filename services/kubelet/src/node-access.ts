import type { KubeObject, ResourceRef, SubjectAccessReview, TokenReview } from '@holdfast/api';
import type { ApiClient, ApiRequest } from '@holdfast/client';
import { StatusError } from '@holdfast/machinery';
import type { Clock } from '@holdfast/platform';
import { ACCESS_KEPT_MAX, ACCESS_KEPT_MS } from './limits.ts';

/** Who the API servers are for kubelets; only their certificate says so. */
export const API_SERVER_USER = 'kube-apiserver-kubelet-client';

export interface Caller {
  readonly user: string;
  readonly groups: readonly string[];
}

export interface NodeAccessDeps {
  readonly client: ApiClient;
  readonly nodeName: string;
  readonly clock: Clock;
}

/** Lets a request pass, or throws 401 or 403. */
export type NodeAccess = (
  request: Pick<ApiRequest, 'method' | 'path' | 'headers'>,
  certificate: Caller | undefined,
) => Promise<void>;

/**
 * Who may ask this node: the API servers by their certificate; others by certificate or token, when the API says that they
 * may do this with the node's subresource. Its answers are kept for a moment.
 */
export function createNodeAccess(deps: NodeAccessDeps): NodeAccess {
  const kept = new Map<string, { readonly until: number; readonly allowed: Promise<void> }>();
  return async (request, certificate) => {
    if (certificate?.user === API_SERVER_USER) return;
    const token = /^bearer (.+)$/i.exec(request.headers['authorization'] ?? '')?.[1];
    const who = certificate === undefined ? `token ${token}` : `user ${JSON.stringify(certificate)}`;
    if (certificate === undefined && token === undefined) throw unauthorized();
    const key = `${who} ${verbOf(request.method)} ${subresourceOf(request.path)}`;
    const now = deps.clock.monotonic();
    const before = kept.get(key);
    if (before !== undefined && before.until > now) return before.allowed;
    const allowed = ask(deps, request, certificate ?? token ?? '');
    if (kept.size >= ACCESS_KEPT_MAX) kept.clear();
    kept.set(key, { until: now + ACCESS_KEPT_MS, allowed });
    // An answer that did not come is asked for again.
    allowed.catch((error: unknown) => {
      if (!(error instanceof StatusError)) kept.delete(key);
    });
    return allowed;
  };
}

async function ask(
  { client, nodeName }: NodeAccessDeps,
  request: Pick<ApiRequest, 'method' | 'path'>,
  credential: Caller | string,
): Promise<void> {
  const caller = typeof credential === 'string' ? await reviewToken(client, credential) : credential;
  const [verb, subresource] = [verbOf(request.method), subresourceOf(request.path)];
  const { status } = await client.create(SUBJECT_ACCESS_REVIEWS, {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    metadata: {},
    spec: {
      user: caller.user,
      groups: [...caller.groups],
      resourceAttributes: { verb, version: 'v1', resource: 'nodes', subresource, name: nodeName },
    },
    status: { allowed: false },
  });
  if (status?.allowed === true) return;
  throw new StatusError({
    code: 403,
    reason: 'Forbidden',
    message: `Forbidden (user=${caller.user}, verb=${verb}, resource=nodes, subresource=${subresource})`,
    details: {},
  });
}

async function reviewToken(client: ApiClient, token: string): Promise<Caller> {
  const { status } = await client.create(TOKEN_REVIEWS, {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenReview',
    metadata: {},
    spec: { token },
    status: {},
  });
  const { username: user, groups = [] } = status?.user ?? {};
  if (status?.authenticated !== true || user === undefined) throw unauthorized();
  return { user, groups };
}

const unauthorized = (): StatusError =>
  new StatusError({ code: 401, reason: 'Unauthorized', message: 'Unauthorized', details: {} });

const VERBS: Readonly<Record<string, string>> = {
  GET: 'get',
  HEAD: 'get',
  POST: 'create',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
};
const verbOf = (method: string): string => VERBS[method] ?? 'get';

/** The kubelet's own table: what is not listed is `proxy`. */
const SUBRESOURCES: Readonly<Record<string, string>> = {
  stats: 'stats',
  metrics: 'metrics',
  logs: 'log',
  spec: 'spec',
};
const subresourceOf = (path: string): string => SUBRESOURCES[path.split('/')[1] ?? ''] ?? 'proxy';

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
