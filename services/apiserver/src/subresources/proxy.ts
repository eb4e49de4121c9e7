import { BlockList, isIP } from 'node:net';
import { ENDPOINTS, type Endpoints, PODS, type Pod, SERVICES, type Service } from '@holdfast/api';
import type { ApiRequest, ApiResponse } from '@holdfast/client';
import { badRequest, notFound, StatusError, unavailable } from '@holdfast/machinery';
import { nodeHttp, nodeHttps } from '@holdfast/platform/http';
import type { Core } from '../core.ts';
import type { ResourceContext } from '../http/context.ts';
import { exchangeOverHttp } from '../http-exchange.ts';
import type { Handler, Subresource } from './port.ts';

/** `[scheme:]name[:port]` */
interface ProxyTarget {
  readonly scheme: 'http' | 'https';
  readonly name: string;
  readonly port: string;
}

interface Place {
  readonly scheme: 'http' | 'https';
  readonly host: string;
  readonly port: number;
}

const proxy: Handler = async (core, context, definition) => {
  const { name, namespace } = context.info;
  const rest = pathBehind(context.request.path);
  if (rest === '') return redirect(context.request.path);
  const target = readTarget(name);
  if (definition.plural === 'nodes') return asPrivate(await askNode(core, context, { node: target.name, path: rest }));
  const place =
    definition.plural === 'pods'
      ? await podPlace(core, namespace, target)
      : await servicePlace(core, namespace, target);
  return asPrivate(await forward(core, context.request, { place, path: rest }));
};

/** Who is behind this server cannot know that only some may ask. Whatever it says of keeping, nobody keeps an answer for others. */
function asPrivate(answer: ApiResponse): ApiResponse {
  const { 'cache-control': kept } = answer.headers;
  if (kept === undefined) return answer;
  return { ...answer, headers: { ...answer.headers, 'cache-control': `no-cache, private, ${kept}` } };
}

/** Requests to what a pod, a service or a kubelet serves, through this server. */
const onResource = (resource: string, kind: string): Subresource => ({
  name: 'proxy',
  servedBy: ({ group, plural }) => group === '' && plural === resource,
  verbs: { create: proxy, delete: proxy, get: proxy, patch: proxy, update: proxy },
  body: { group: '', version: 'v1', kind },
});

export const nodeProxy = onResource('nodes', 'NodeProxyOptions');
export const podProxy = onResource('pods', 'PodProxyOptions');
export const serviceProxy = onResource('services', 'ServiceProxyOptions');

/** What follows `/proxy`; '' when nothing does, not even a slash. */
function pathBehind(path: string): string {
  const end = path.indexOf('/proxy') + '/proxy'.length;
  return path.slice(end);
}

/** So that relative links of what is behind it stay behind it. */
const redirect = (path: string): ApiResponse => ({
  status: 301,
  headers: { location: `${encodeURI(path)}/` },
  body: { kind: 'empty' },
});

function readTarget(text: string): ProxyTarget {
  const parts = text.split(':');
  const [first = '', second = '', third = ''] = parts;
  if (parts.length === 3 && (first === 'http' || first === 'https' || first === '')) {
    return { scheme: first === 'https' ? 'https' : 'http', name: second, port: third };
  }
  if (parts.length <= 2 && first !== '') return { scheme: 'http', name: first, port: second };
  throw badRequest(`invalid proxy target ${JSON.stringify(text)}: it is [scheme:]name[:port]`);
}

async function podPlace(core: Core, namespace: string, { scheme, name, port }: ProxyTarget): Promise<Place> {
  const pod: Pod | undefined = await core.reader.fresh(PODS, { namespace, name });
  if (pod === undefined) throw notFound({ group: '', resource: 'pods', name });
  const host = pod.status?.podIP ?? '';
  if (!isProxyable(host)) throw badRequest('address not allowed');
  const ports = (pod.spec?.containers ?? []).flatMap((container) => container.ports ?? []);
  const chosen = port === '' ? ports[0] : ports.find((each) => each.name === port);
  return { scheme, host, port: chosen?.containerPort ?? numberOf(port, scheme) };
}

/** Link-local addresses hold services of the machine under this server, such as its cloud's credentials. */
const OWN_ADDRESSES = new BlockList();
OWN_ADDRESSES.addAddress('0.0.0.0');
OWN_ADDRESSES.addSubnet('169.254.0.0', 16);
OWN_ADDRESSES.addAddress('::', 'ipv6');
OWN_ADDRESSES.addSubnet('fe80::', 10, 'ipv6');

function isProxyable(address: string): boolean {
  const version = isIP(address);
  return version !== 0 && !OWN_ADDRESSES.check(address, version === 6 ? 'ipv6' : 'ipv4');
}

function numberOf(port: string, scheme: 'http' | 'https'): number {
  if (port === '') return scheme === 'https' ? 443 : 80;
  const number = Number(port);
  if (Number.isInteger(number) && number > 0 && number < 0x1_0000) return number;
  throw badRequest(`invalid port ${JSON.stringify(port)}`);
}

async function servicePlace(core: Core, namespace: string, target: ProxyTarget): Promise<Place> {
  const { scheme, name, port } = target;
  const service: Service | undefined = await core.reader.fresh(SERVICES, { namespace, name });
  if (service === undefined) throw notFound({ group: '', resource: 'services', name });
  const ports = service.spec?.ports ?? [];
  const wanted = port === '' ? ports[0] : ports.find((each) => each.name === port || String(each.port) === port);
  if (wanted === undefined) throw unavailable(`no service port ${JSON.stringify(port)} found for service "${name}"`);
  const endpoints: Endpoints | undefined = await core.reader.fresh(ENDPOINTS, { namespace, name });
  for (const { addresses = [], ports: open = [] } of endpoints?.subsets ?? []) {
    const found = open.find((each) => (each.name ?? '') === (wanted.name ?? ''));
    const [address] = addresses;
    if (found !== undefined && address !== undefined && isProxyable(address.ip))
      return { scheme, host: address.ip, port: found.port };
  }
  throw unavailable(`no endpoints available for service "${name}"`);
}

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
  const query = request.query.toString();
  const { request: send } = scheme === 'https' ? nodeHttps() : nodeHttp();
  const sent = send({
    host,
    port,
    method: request.method,
    path: `${encodeURI(to.path)}${query === '' ? '' : `?${query}`}`,
    headers: { ...passedHeaders(request), host: `${host}:${port}`, 'x-forwarded-uri': encodeURI(request.path) },
    // As Kubernetes does: nobody here knows who signed what a pod serves.
    ...(scheme === 'https' ? { rejectUnauthorized: false } : {}),
    ...(request.signal === undefined ? {} : { signal: request.signal }),
  });
  return exchangeOverHttp(sent, request, core.clock);
}

/** The client's credentials stay here; its connection is its own, unless it changes the protocol. */
const KEPT_BACK: ReadonlySet<string> = new Set([
  'authorization',
  'host',
  'keep-alive',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
]);

function passedHeaders({ headers }: ApiRequest): Record<string, string> {
  const changesProtocol = headers['upgrade'] !== undefined;
  return Object.fromEntries(
    Object.entries(headers).filter(
      ([name]) =>
        !KEPT_BACK.has(name) && !name.startsWith('impersonate-') && (name !== 'connection' || changesProtocol),
    ),
  );
}
