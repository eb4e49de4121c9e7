import type { ApiRequest, ApiResponse } from '@holdfast/client';
import { StatusError } from '@holdfast/machinery';
import { nodeHttp, nodeHttps } from '@holdfast/platform/http';
import type { Core } from '../core.ts';
import { IMPERSONATE } from '../header-values.ts';
import type { ResourceContext } from '../http/context.ts';
import { brokenBackend, exchangeOverHttp } from '../http-exchange.ts';
import { admitConnection } from './admit-connection.ts';
import type { Handler, Subresource } from './port.ts';
import { behindProxy } from './proxy-answer.ts';
import { type Place, podPlace, readTarget, servicePlace, unreachable } from './proxy-place.ts';

const KINDS: ReadonlyMap<string, string> = new Map([
  ['nodes', 'NodeProxyOptions'],
  ['pods', 'PodProxyOptions'],
  ['services', 'ServiceProxyOptions'],
]);

const proxy: Handler = async (core, context, definition) => {
  const { request, info } = context;
  const { prefix, rest } = splitPath(request.path);
  const target = readTarget(definition.plural, info.name);
  await admitConnection(core, context, definition, {
    kind: KINDS.get(definition.plural) ?? '',
    apiVersion: 'v1',
    path: rest,
  });
  if (definition.plural === 'nodes') {
    if (isWithoutPath(request, rest)) return redirect(request);
    return asPrivate(await askNode(core, context, { node: target.name, path: rest }));
  }
  const place = await (definition.plural === 'pods' ? podPlace : servicePlace)(core, info.namespace, target);
  if (isWithoutPath(request, rest)) return redirect(request);
  const answer = await forward(core, request, { place, path: rest === '' ? '/' : rest });
  const seat = { prefix, own: authorityOf(place), asked: request.headers['host'] ?? '' };
  return asPrivate(behindProxy(answer, seat, request.method));
};

/** Who is behind this server cannot know that only some may ask. Whatever it says of keeping, nobody keeps an answer for others. */
function asPrivate(answer: ApiResponse): ApiResponse {
  const { 'cache-control': kept } = answer.headers;
  if (kept === undefined) return answer;
  return { ...answer, headers: { ...answer.headers, 'cache-control': `no-cache, private, ${kept}` } };
}

/** Requests to what a pod, a service or a kubelet serves, through this server. */
const onResource = (resource: string): Subresource => ({
  name: 'proxy',
  servedBy: ({ group, plural }) => group === '' && plural === resource,
  verbs: { create: proxy, delete: proxy, get: proxy, patch: proxy, update: proxy },
  body: { group: '', version: 'v1', kind: KINDS.get(resource) ?? '' },
});

export const nodeProxy = onResource('nodes');
export const podProxy = onResource('pods');
export const serviceProxy = onResource('services');

/** What follows `/proxy` of the resource; '' when nothing does, not even a slash. Names may begin with `proxy` as well. */
function splitPath(path: string): { readonly prefix: string; readonly rest: string } {
  const prefix = PROXY_PREFIX.exec(path)?.[0] ?? '';
  return { prefix, rest: path.slice(prefix.length) };
}

const PROXY_PREFIX = /^\/api\/v1\/(?:namespaces\/[^/]+\/)?[^/]+\/[^/]+\/proxy/;

const isWithoutPath = ({ method, headers }: ApiRequest, rest: string): boolean =>
  rest === '' && (method === 'GET' || method === 'HEAD') && headers['upgrade'] === undefined;

/** So that relative links of what is behind it stay behind it. */
const redirect = ({ path, query }: ApiRequest): ApiResponse => ({
  status: 301,
  headers: { location: `${encodePath(path)}/${queryText(query)}` },
  body: { kind: 'empty' },
});

/** What was decoded once, as a path: a question mark in a name begins no query. */
const encodePath = (path: string): string => encodeURI(path).replace(/[?#]/g, (mark) => (mark === '?' ? '%3F' : '%23'));

/** A plus for a space is for forms: not everybody behind this server reads queries as such. */
const queryText = (query: URLSearchParams): string =>
  query.size === 0 ? '' : `?${query.toString().replaceAll('+', '%20')}`;

function askNode(core: Core, { request }: ResourceContext, to: { node: string; path: string }): Promise<ApiResponse> {
  if (core.nodes === undefined) {
    throw new StatusError({
      code: 501,
      message: 'this server has no connection to kubelets',
      details: { kind: 'nodes' },
    });
  }
  return core.nodes.request(to.node, { ...request, path: to.path, headers: passedHeaders(request) });
}

function forward(core: Core, request: ApiRequest, to: { place: Place; path: string }): Promise<ApiResponse> {
  const { scheme, host, port } = to.place;
  const { request: send } = scheme === 'https' ? nodeHttps() : nodeHttp();
  const sent = send({
    host,
    port,
    method: request.method,
    path: `${encodePath(to.path)}${queryText(request.query)}`,
    headers: { host: authorityOf(to.place), ...passedHeaders(request), ...forwardedHeaders(request) },
    // As Kubernetes does: nobody here knows who signed what a pod serves.
    ...(scheme === 'https' ? { rejectUnauthorized: false } : {}),
    ...(request.signal === undefined ? {} : { signal: request.signal }),
  });
  const told = request.headers['upgrade'] === undefined ? unreachable : brokenBackend;
  return exchangeOverHttp(sent, request, { clock: core.clock, told });
}

const authorityOf = ({ host, port }: Place): string => `${host.includes(':') ? `[${host}]` : host}:${port}`;

/** Who asked, and for what: programs make links of it. */
function forwardedHeaders({ path, headers, connection }: ApiRequest): Record<string, string> {
  const before = headers['x-forwarded-for'];
  const client = connection?.remoteAddress;
  const chain = [before, client].filter((each) => each !== undefined && each !== '').join(', ');
  return { 'x-forwarded-uri': encodePath(path), ...(chain === '' ? {} : { 'x-forwarded-for': chain }) };
}

/** The client's credentials stay here; its connection is its own, unless it changes the protocol. */
const KEPT_BACK: ReadonlySet<string> = new Set([
  'authorization',
  'keep-alive',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
]);

function passedHeaders({ headers }: ApiRequest): Record<string, string> {
  const named = namedByConnection(headers);
  const passed = Object.entries(headers).filter(
    ([name]) => !KEPT_BACK.has(name) && !named.has(name) && !name.startsWith(IMPERSONATE),
  );
  return Object.fromEntries(passed);
}

/** `connection` says which headers are for this connection alone, itself among them. One that changes the protocol goes on as it is. */
function namedByConnection({ connection = '', upgrade }: ApiRequest['headers']): ReadonlySet<string> {
  if (upgrade !== undefined) return new Set();
  return new Set(['connection', ...connection.split(',').map((name) => name.trim().toLowerCase())]);
}
