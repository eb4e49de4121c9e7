import type { ApiRequest, ApiResponse } from '@holdfast/client';
import { StatusError } from '@holdfast/machinery';
import { nodeHttp, nodeHttps } from '@holdfast/platform/http';
import type { Core } from '../core.ts';
import type { ResourceContext } from '../http/context.ts';
import { podAgent, securePodAgent } from '../proxy/pod-agent.ts';
import { asPrivate, behindProxy } from '../proxy/proxy-answer.ts';
import { brokenBackend, exchangeOverHttp } from '../proxy/proxy-exchange.ts';
import { encodePath, forwardedHeaders, passedHeaders, queryText } from '../service-calls/passed-request.ts';
import { admitConnection } from './admit-connection.ts';
import type { Handler, Subresource } from './port.ts';
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

/** Splits at `/proxy` of the resource; the rest may be ''. Names may begin with `proxy` as well. */
function splitPath(path: string): { readonly prefix: string; readonly rest: string } {
  const prefix = PROXY_PREFIX.exec(path)?.[0] ?? '';
  return { prefix, rest: path.slice(prefix.length) };
}

const PROXY_PREFIX = /^\/api\/v1\/(?:namespaces\/[^/]+\/)?[^/]+\/[^/]+\/proxy/;

const isWithoutPath = ({ method, headers }: ApiRequest, rest: string): boolean =>
  rest === '' && (method === 'GET' || method === 'HEAD') && headers['upgrade'] === undefined;

/** Keeps relative links of the target below it. */
const redirect = ({ path, query }: ApiRequest): ApiResponse => ({
  status: 301,
  headers: { location: `${encodePath(path)}/${queryText(query)}` },
  body: { kind: 'empty' },
});

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
  const { dial } = core.nodes ?? {};
  const agent = scheme === 'https' ? securePodAgent : podAgent;
  const sent = send({
    host,
    port,
    ...(dial === undefined ? {} : { agent: agent(dial) }),
    method: request.method,
    path: `${encodePath(to.path)}${queryText(request.query)}`,
    headers: { host: authorityOf(to.place), ...passedHeaders(request), ...forwardedHeaders(request) },
    // As in Kubernetes: the authority of a pod's certificate is unknown.
    ...(scheme === 'https' ? { rejectUnauthorized: false } : {}),
    ...(request.signal === undefined ? {} : { signal: request.signal }),
  });
  const told = request.headers['upgrade'] === undefined ? unreachable : brokenBackend;
  return exchangeOverHttp(sent, request, { clock: core.clock, told });
}

const authorityOf = ({ host, port }: Place): string => `${host.includes(':') ? `[${host}]` : host}:${port}`;
