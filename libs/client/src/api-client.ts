import { INCARNATION_HEADER, type KubeObject, PODS, type ResourceRef } from '@holdfast/api';
import { StatusError } from '@holdfast/machinery';
import type { Clock } from '@holdfast/platform';
import {
  decodeList,
  decodeObject,
  decodeResources,
  jsonOf,
  metadataOf,
  statusErrorFrom,
  statusErrorOf,
} from './decode.ts';
import { HAD_SEEN_HEADER, hadSeenBy } from './had-seen.ts';
import type { ApiClient, DeleteRequest, ListSelection, PatchType, Target, TypedWatchEvent } from './port.ts';
import { collectionPath, objectPath, versionPath } from './resource-path.ts';
import { askPatiently } from './retry-after.ts';
import { SEEN_HEADER } from './seen.ts';
import {
  type ApiRequest,
  type ApiResponse,
  type ApiTransport,
  type HttpMethod,
  TransportError,
  type WatchEvent,
} from './transport/port.ts';
import { framesOf } from './transport/watch-frames.ts';
import { wholeAnswer } from './whole-answer.ts';

export interface ApiClientOptions {
  readonly transport: ApiTransport;
  /** A function runs for every request, so that a rotated token takes effect. */
  readonly token?: string | (() => string);
  readonly userAgent: string;
  /** The incarnation of a kubelet's machine, see `NodeIncarnation`. */
  readonly incarnation?: string | undefined;
  /** With a clock, the client waits and repeats requests that were rejected with 429 and a Retry-After. */
  readonly clock?: Clock;
}

/** All requests without a query share this. Never change it. */
const NO_QUERY = new URLSearchParams();

type Send = (method: HttpMethod, path: string, extra?: Partial<ApiRequest>) => Promise<ApiResponse>;

export function createApiClient(options: ApiClientOptions): ApiClient {
  const send = createSend(options);
  const informed = (resource: ResourceRef, body: ReturnType<typeof jsonBody>): Partial<ApiRequest> => {
    const seen = hadSeenBy(client).headerFor(resource);
    return seen === undefined ? body : { ...body, headers: { ...body.headers, [HAD_SEEN_HEADER]: seen } };
  };
  const write = async <T extends KubeObject>(method: HttpMethod, path: string, resource: ResourceRef<T>, object: T) =>
    decodeObject(resource, jsonOf(await send(method, path, informed(resource, jsonBody(object)))));
  const get = async <T extends KubeObject>(resource: ResourceRef<T>, target: Target, subresource?: 'scale') =>
    decodeObject(resource, jsonOf(await send('GET', objectPath(resource, target, subresource))));
  const client: ApiClient = {
    get,
    find: (resource, target) => undefinedFor404(get(resource, target)),
    list: async (resource, selection = {}) => {
      const { signal } = selection;
      const extra = {
        query: listQuery(selection),
        ...readHeaders(selection, 'PartialObjectMetadataList'),
        ...(signal === undefined ? {} : { signal }),
      };
      const response = await send('GET', collectionPath(resource, selection.namespace), extra);
      const list = decodeList(resource, jsonOf(response));
      const items = selection.metadataOnly ? list.items.map((item) => metadataOf(resource, item)) : list.items;
      return { ...list, items, seen: response.headers[SEEN_HEADER] };
    },
    watch: (resource, selection) => watch(send, resource, selection),
    create: (resource, object) => write('POST', collectionPath(resource, object.metadata.namespace), resource, object),
    update: (resource, object) => write('PUT', pathOf(resource, object), resource, object),
    updateStatus: (resource, object) => write('PUT', pathOf(resource, object, 'status'), resource, object),
    updateSubresource: (resource, object, subresource) =>
      write('PUT', pathOf(resource, object, subresource), resource, object),
    patch: async (resource, target, { type, body, subresource }) => {
      const path = objectPath(resource, target, subresource);
      const asked = informed(resource, jsonBody(body, PATCH_MEDIA_TYPES[type]));
      return decodeObject(resource, jsonOf(await send('PATCH', path, asked)));
    },
    delete: async (resource, target, request = {}) => {
      await send('DELETE', objectPath(resource, target), informed(resource, jsonBody(deleteOptions(request))));
    },
    resourcesOf: async (group, version) =>
      decodeResources({ group, version }, jsonOf(await send('GET', versionPath({ group, version })))),
    bind: async (target, nodeName, uid) => {
      const body = jsonBody({
        apiVersion: 'v1',
        kind: 'Binding',
        metadata: { name: target.name, namespace: target.namespace, uid },
        target: { apiVersion: 'v1', kind: 'Node', name: nodeName },
      });
      const path = `/api/v1/namespaces/${target.namespace}/pods/${target.name}/binding`;
      await send('POST', path, informed(PODS, body));
    },
    evict: async (target, request = {}) => {
      const body = jsonBody({
        apiVersion: 'policy/v1',
        kind: 'Eviction',
        metadata: { name: target.name, namespace: target.namespace },
        deleteOptions: deleteOptions(request),
      });
      const path = `/api/v1/namespaces/${target.namespace}/pods/${target.name}/eviction`;
      await send('POST', path, informed(PODS, body));
    },
  };
  return client;
}

/** Adds the headers that every request of this identity carries. Throws `StatusError` for a status of 400 or above. */
function createSend(options: ApiClientOptions): Send {
  const { transport, token, userAgent, incarnation, clock } = options;
  const machine = incarnation === undefined ? {} : { [INCARNATION_HEADER]: incarnation };
  let known: { readonly bearer: string | undefined; readonly headers: Readonly<Record<string, string>> } | undefined;
  const headersOf = (bearer: string | undefined): Readonly<Record<string, string>> => {
    if (known === undefined || known.bearer !== bearer) {
      const authorization = bearer === undefined || bearer === '' ? {} : { authorization: `Bearer ${bearer}` };
      known = {
        bearer,
        headers: { accept: 'application/json', 'user-agent': userAgent, ...machine, ...authorization },
      };
    }
    return known.headers;
  };
  return async (method, path, extra = {}) => {
    const ask = (): Promise<ApiResponse> => {
      const headers = headersOf(typeof token === 'function' ? token() : token);
      return transport.request({
        method,
        path,
        query: extra.query ?? NO_QUERY,
        headers: extra.headers === undefined ? headers : { ...headers, ...extra.headers },
        ...(extra.body === undefined ? {} : { body: extra.body }),
        ...(extra.signal === undefined ? {} : { signal: extra.signal }),
      });
    };
    const answer = await (clock === undefined ? ask() : askPatiently(ask, { clock, signal: extra.signal }));
    const isStream = answer.body.kind === 'stream' && !(answer.status === 200 && extra.query?.get('watch') === 'true');
    const response = isStream ? await wholeAnswer(answer) : answer;
    if (response.status >= 400) throw statusErrorOf(response);
    return response;
  };
}

async function* watch<T extends KubeObject>(
  send: Send,
  resource: ResourceRef<T>,
  options: Parameters<ApiClient['watch']>[1],
): AsyncGenerator<TypedWatchEvent<T>> {
  const query = selectionQuery(options);
  query.set('watch', 'true');
  query.set('resourceVersion', options.resourceVersion);
  if (options.timeoutSeconds !== undefined) query.set('timeoutSeconds', String(options.timeoutSeconds));
  if (options.allowBookmarks === true) query.set('allowWatchBookmarks', 'true');
  const path = collectionPath(resource, options.namespace);
  const headers = readHeaders(options, 'PartialObjectMetadata');
  const { body } = await send('GET', path, { query, signal: options.signal, ...headers });
  if (body.kind !== 'watch' && body.kind !== 'stream') {
    throw new TransportError(`a watch was answered with ${body.kind}`);
  }
  // In the API server's own process, a watch of an aggregated server arrives as a stream.
  const frames = body.kind === 'watch' ? body.frames : framesOf(body.chunks);
  for await (const frame of frames) {
    const event = typed(resource, frame.value());
    yield options.metadataOnly ? { ...event, object: metadataOf(resource, event.object) } : event;
  }
}

/** Servers that do not know the form answer with whole objects. */
const metadataForm = (kind: string): string => `application/json;as=${kind};g=meta.k8s.io;v=v1, application/json`;

function readHeaders(
  { seen, metadataOnly }: { readonly seen?: string; readonly metadataOnly?: true },
  form: string,
): Partial<ApiRequest> {
  const headers = {
    ...(seen === undefined ? {} : { [SEEN_HEADER]: seen }),
    ...(metadataOnly === undefined ? {} : { accept: metadataForm(form) }),
  };
  return Object.keys(headers).length === 0 ? {} : { headers };
}

function typed<T extends KubeObject>(resource: ResourceRef<T>, event: WatchEvent): TypedWatchEvent<T> {
  if (event.type === 'ERROR') throw statusErrorFrom(event.object);
  return { type: event.type, object: decodeObject(resource, event.object) };
}

async function undefinedFor404<T>(pending: Promise<T>): Promise<T | undefined> {
  try {
    return await pending;
  } catch (error) {
    if (error instanceof StatusError && error.code === 404) return undefined;
    throw error;
  }
}

const PATCH_MEDIA_TYPES: Readonly<Record<PatchType, string>> = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
};

function pathOf<T extends KubeObject>(resource: ResourceRef<T>, object: T, subresource?: string): string {
  const { name = '', namespace } = object.metadata;
  return objectPath(resource, { name, ...(namespace === undefined ? {} : { namespace }) }, subresource);
}

function jsonBody(body: unknown, mediaType = 'application/json') {
  return { headers: { 'content-type': mediaType }, body: JSON.stringify(body) };
}

function selectionQuery(selection: ListSelection): URLSearchParams {
  const query = new URLSearchParams();
  if (selection.labelSelector !== undefined) query.set('labelSelector', selection.labelSelector);
  if (selection.fieldSelector !== undefined) query.set('fieldSelector', selection.fieldSelector);
  return query;
}

function listQuery(selection: NonNullable<Parameters<ApiClient['list']>[1]>): URLSearchParams {
  const query = selectionQuery(selection);
  if (selection.limit !== undefined) query.set('limit', String(selection.limit));
  if (selection.continueToken !== undefined) query.set('continue', selection.continueToken);
  if (selection.resourceVersion !== undefined) query.set('resourceVersion', selection.resourceVersion);
  return query;
}

function deleteOptions(request: DeleteRequest): Record<string, unknown> {
  const { gracePeriodSeconds, propagationPolicy, uid, resourceVersion } = request;
  const preconditions = {
    ...(uid === undefined ? {} : { uid }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
  };
  return {
    apiVersion: 'v1',
    kind: 'DeleteOptions',
    ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
    ...(propagationPolicy === undefined ? {} : { propagationPolicy }),
    ...(Object.keys(preconditions).length === 0 ? {} : { preconditions }),
  };
}
