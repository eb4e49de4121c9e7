import type { ApiRequest } from '@holdfast/client';

/** What the path and method ask for, in the terms of authorization. */
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
  /** What follows the subresource (proxy paths). */
  readonly rest: string;
  /** As it was sent: some identities may read only what a selector limits to their own. */
  readonly fieldSelector?: string;
}

export type ResourceVerb = 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete' | 'deletecollection';

const NAMESPACE_SUBRESOURCES: ReadonlySet<string> = new Set(['status', 'finalize']);

/** Reads the path grammar of the Kubernetes API. */
export function readRequestInfo(request: Pick<ApiRequest, 'method' | 'path' | 'query'>): RequestInfo {
  const segments = request.path.split('/').slice(1);
  if (segments.at(-1) === '') segments.pop();
  const [root, ...below] = segments;
  if (root === 'api' && below.length >= 2) return resourceRequest(request, '', below[0] ?? '', below.slice(1));
  if (root === 'apis' && below.length >= 3 && below[0] !== '') {
    return resourceRequest(request, below[0] ?? '', below[1] ?? '', below.slice(2));
  }
  return { kind: 'path', verb: request.method.toLowerCase(), path: request.path };
}

type RequestLine = Pick<ApiRequest, 'method' | 'path' | 'query'>;

function resourceRequest(
  request: RequestLine,
  group: string,
  version: string,
  segments: readonly string[],
): ResourceRequest {
  const legacyWatch = segments[0] === 'watch' && segments.length > 1;
  const place = readPlace(legacyWatch ? segments.slice(1) : segments);
  const watch = legacyWatch || isTrue(request.query.get('watch'));
  const fieldSelector = request.query.get('fieldSelector');
  return {
    kind: 'resource',
    path: request.path,
    group,
    version,
    ...place,
    verb: verbOf(request, place.name, watch),
    ...(fieldSelector === null ? {} : { fieldSelector }),
  };
}

interface Place {
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
  readonly subresource: string;
  readonly rest: string;
}

function readPlace(segments: readonly string[]): Place {
  const [first = '', second, third] = segments;
  const scoped =
    first === 'namespaces' && second !== undefined && third !== undefined && !NAMESPACE_SUBRESOURCES.has(third);
  const [resource = '', name = '', subresource = '', ...rest] = scoped ? segments.slice(2) : segments;
  const namespace = scoped || (first === 'namespaces' && second !== undefined) ? (second ?? '') : '';
  return { resource, namespace, name, subresource, rest: rest.join('/') };
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
