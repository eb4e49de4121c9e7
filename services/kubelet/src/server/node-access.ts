import {
  API_SERVER_CLIENT,
  type ApiClient,
  type ApiRequest,
  bearerTokenOf,
  type Caller,
  createAccessReviews,
} from '@holdfast/client';
import { StatusError } from '@holdfast/machinery';
import type { Clock } from '@holdfast/platform';
import { ACCESS_KEPT_MAX, ACCESS_KEPT_MS } from '../limits.ts';

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
 * Authorizes requests: API servers by their certificate; others by certificate or token, when the API grants them the
 * node's subresource.
 */
export function createNodeAccess({ client, clock, nodeName: name }: NodeAccessDeps): NodeAccess {
  const reviews = createAccessReviews({ client, clock, keptMs: ACCESS_KEPT_MS, keptMax: ACCESS_KEPT_MAX });
  return async (request, certificate) => {
    if (isApiServer(certificate)) return;
    const credential = certificate ?? bearerTokenOf(request.headers['authorization']);
    if (credential === undefined) throw unauthorized();
    const [verb, subresource] = [verbOf(request.method), subresourceOf(request.path)];
    const resourceAttributes = { verb, version: 'v1', resource: 'nodes', subresource, name };
    const verdict = await reviews(credential, { resourceAttributes });
    if (verdict.kind === 'unauthenticated') throw unauthorized();
    if (verdict.kind === 'forbidden') throw forbidden(verdict.caller, verb, subresource);
  };
}

/** Only their certificate has this name, and it has no other. */
const isApiServer = (certificate: Caller | undefined): boolean =>
  certificate?.user === API_SERVER_CLIENT.user &&
  certificate.groups?.length === 1 &&
  certificate.groups[0] === API_SERVER_CLIENT.group;

const unauthorized = (): StatusError =>
  new StatusError({ code: 401, reason: 'Unauthorized', message: 'Unauthorized', details: {} });

const forbidden = ({ user }: Caller, verb: string, subresource: string): StatusError =>
  new StatusError({
    code: 403,
    reason: 'Forbidden',
    message: `Forbidden (user=${user}, verb=${verb}, resource=nodes, subresource=${subresource})`,
    details: {},
  });

const VERBS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    GET: 'get',
    HEAD: 'get',
    POST: 'create',
    PUT: 'update',
    PATCH: 'patch',
    DELETE: 'delete',
  }),
);
const verbOf = (method: string): string => VERBS.get(method) ?? 'get';

/** The kubelet's own table: what is not listed is `proxy`. */
const SUBRESOURCES: ReadonlyMap<string, string> = new Map([
  ['stats', 'stats'],
  ['metrics', 'metrics'],
  ['logs', 'log'],
  ['spec', 'spec'],
]);
const subresourceOf = (path: string): string => SUBRESOURCES.get(path.split('/')[1] ?? '') ?? 'proxy';
