import type { ApiRequest } from '@holdfast/client';

/** The meaning of path and method in terms of authorization. */
export type RequestInfo = ResourceRequest | NonResourceRequest;

export interface NonResourceRequest {
  readonly kind: 'path';
  readonly verb: string;
  readonly path: string;
}

export interface ResourceRequest {
  readonly kind: 'resource';
  /** A `ResourceVerb`, or one that only authorization knows (`impersonate`, `bind`, `escalate`). */
  readonly verb: string;
  readonly path: string;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  /** '' for cluster-scoped requests and for all namespaces. */
  readonly namespace: string;
  /** '' for collections. */
  readonly name: string;
  /** '' for the object itself. */
  readonly subresource: string;
  /** The rest after the subresource (proxy paths). */
  readonly rest: string;
  /** As sent: some identities may read only what a selector limits to their own. */
  readonly fieldSelector?: string;
  readonly labelSelector?: string;
}

export type ResourceVerb = 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete' | 'deletecollection';

/** Names that are no part of a path in the store. */
export const IS_NO_PART = /[/%]|^\.\.?$/;

const NAMESPACE_SUBRESOURCES: ReadonlySet<string> = new Set(['status', 'finalize']);

/** Reads the path grammar of the Kubernetes API. */
export function readRequestInfo(request: Pick<ApiRequest, 'method' | 'path' | 'query'>): RequestInfo {
  // Before the first slash is an empty segment.
  const segments = request.path.split('/');
  if (segments.length > 1 && segments.at(-1) === '') segments.pop();
  const [, root, first = '', second = ''] = segments;
  if (root === 'api' && segments.length > 3) return resourceRequest(request, '', first, segments, 3);
  if (root === 'apis' && segments.length > 4 && first !== '') {
    return resourceRequest(request, first, second, segments, 4);
  }
  return { kind: 'path', verb: request.method.toLowerCase(), path: request.path };
}

type RequestLine = Pick<ApiRequest, 'method' | 'path' | 'query'>;

/** `from` is where the segments behind the version begin. */
function resourceRequest(
  request: RequestLine,
  group: string,
  version: string,
  ...[segments, from]: readonly [readonly string[], number]
): ResourceRequest {
  const legacyWatch = segments[from] === 'watch' && segments.length > from + 1;
  const first = legacyWatch ? from + 1 : from;
  const inNamespaces = segments[first] === 'namespaces';
  const third = segments[first + 2];
  const scoped = inNamespaces && third !== undefined && !NAMESPACE_SUBRESOURCES.has(third);
  const at = scoped ? first + 2 : first;
  const name = segments[at + 1] ?? '';
  const { query } = request;
  // A watch of one object uses a selector, or the legacy path, which is one by any method.
  const watch = name === '' && query.size > 0 && isTrue(query.get('watch'));
  const info: ResourceRequest = {
    kind: 'resource',
    verb: legacyWatch ? 'watch' : verbOf(request, name, watch),
    path: request.path,
    group,
    version,
    resource: segments[at] ?? '',
    namespace: inNamespaces ? (segments[first + 1] ?? '') : '',
    name,
    subresource: segments[at + 2] ?? '',
    rest: segments.length > at + 3 ? segments.slice(at + 3).join('/') : '',
  };
  if (query.size === 0) return info;
  const fieldSelector = query.get('fieldSelector');
  const labelSelector = query.get('labelSelector');
  if (fieldSelector === null && labelSelector === null) return info;
  return {
    ...info,
    ...(fieldSelector === null ? {} : { fieldSelector }),
    ...(labelSelector === null ? {} : { labelSelector }),
  };
}

function verbOf(request: RequestLine, name: string, watch: boolean): ResourceVerb {
  switch (request.method) {
    case 'POST':
      return 'create';
    case 'PUT':
      return 'update';
    case 'PATCH':
      return 'patch';
    case 'DELETE':
      return name === '' ? 'deletecollection' : 'delete';
    case 'GET':
    case 'HEAD':
    case 'OPTIONS':
      if (watch) return 'watch';
      return name === '' ? 'list' : 'get';
  }
}

/** Booleans of a query as Kubernetes reads them. */
export const isTrue = (text: string | null): boolean => text !== null && text !== '0' && text.toLowerCase() !== 'false';
