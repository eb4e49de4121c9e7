import { BlockList, isIP } from 'node:net';
import { ENDPOINTS, type Endpoints, PODS, type Pod, SERVICES, type Service } from '@holdfast/api';
import { badRequest, notFound, StatusError } from '@holdfast/machinery';
import type { Ids } from '@holdfast/platform';
import type { Core } from '../core.ts';

/** `[scheme:]name[:port]` */
export interface ProxyTarget {
  readonly scheme: 'http' | 'https';
  readonly name: string;
  readonly port: string;
  /** All of it, as it was asked for. */
  readonly text: string;
}

export interface Place {
  readonly scheme: 'http' | 'https';
  readonly host: string;
  readonly port: number;
}

export function readTarget(plural: string, text: string): ProxyTarget {
  const parts = text.split(':');
  const [first = '', second = '', third = ''] = parts;
  if (parts.length === 3 && second !== '' && (first === 'http' || first === 'https' || first === '')) {
    return { scheme: first === 'https' ? 'https' : 'http', name: second, port: third, text };
  }
  if (parts.length <= 2 && first !== '') return { scheme: 'http', name: first, port: second, text };
  throw badRequest(`invalid ${plural.slice(0, -1)} request ${JSON.stringify(text)}`);
}

export async function podPlace(core: Core, namespace: string, { scheme, name, port }: ProxyTarget): Promise<Place> {
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

export async function servicePlace(core: Core, namespace: string, target: ProxyTarget): Promise<Place> {
  const { scheme, name } = target;
  const portName = await portNameOf(core, namespace, target);
  const endpoints: Endpoints | undefined = await core.reader.fresh(ENDPOINTS, { namespace, name });
  if (endpoints === undefined) throw notFound({ group: '', resource: 'endpoints', name });
  const place = anyPlace(endpoints, portName, core.ids);
  if (place !== undefined) return { scheme, ...place };
  throw noService(
    `no endpoints available for service "${(endpoints.subsets ?? []).length === 0 ? name : target.text}"`,
  );
}

/** Requests are spread over all who serve, without keeping account of them. */
export function anyPlace(
  { subsets = [] }: Endpoints,
  portName: string,
  ids: Pick<Ids, 'uuid'>,
): Omit<Place, 'scheme'> | undefined {
  const places = subsets.flatMap((subset) => placesOf(subset, portName));
  return places[Number.parseInt(ids.uuid().slice(0, 8), 16) % places.length];
}

type Subset = NonNullable<Endpoints['subsets']>[number];

function placesOf({ addresses = [], ports = [] }: Subset, portName: string): readonly Omit<Place, 'scheme'>[] {
  const port = ports.find((each) => (each.name ?? '') === portName)?.port;
  if (port === undefined) return [];
  return addresses.filter(({ ip }) => isProxyable(ip)).map(({ ip }) => ({ host: ip, port }));
}

/** Endpoints know ports by name; without one a port is meant that has none. */
async function portNameOf(core: Core, namespace: string, { name, port }: ProxyTarget): Promise<string> {
  if (!/^\d+$/.test(port)) return port;
  const service: Service | undefined = await core.reader.fresh(SERVICES, { namespace, name });
  if (service === undefined) throw notFound({ group: '', resource: 'services', name });
  const found = (service.spec?.ports ?? []).find((each) => each.port === Number(port));
  if (found === undefined) throw noService(`no service port ${Number(port)} found for service "${name}"`);
  return found.name ?? '';
}

/** Without `Retry-After`: clients would wait for it where people want to know at once. */
const noService = (message: string, cause?: unknown): StatusError =>
  new StatusError({ code: 503, reason: 'ServiceUnavailable', message, cause });

export const unreachable = (why: string, cause: Error): StatusError =>
  noService(`error trying to reach service: ${why}`, cause);
