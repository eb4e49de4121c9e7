import { ENDPOINTS, type Endpoints, PODS, type Pod, SERVICES, type Service } from '@holdfast/api';
import { badRequest, notFound, StatusError } from '@holdfast/machinery';
import type { Core } from '../core.ts';
import { isGlobalUnicast } from '../proxy/global-unicast.ts';
import { anyPlace, isOnThisMachine, mayReach, type NetPlace } from '../service-calls/service-place.ts';

/** `[scheme:]name[:port]` */
export interface ProxyTarget {
  readonly scheme: 'http' | 'https';
  readonly name: string;
  readonly port: string;
  /** The whole name as requested. */
  readonly text: string;
}

export interface Place extends NetPlace {
  readonly scheme: 'http' | 'https';
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
  if (!isGlobalUnicast(host) && !isOnThisMachine(core.nodes, pod)) throw badRequest('address not allowed');
  const ports = (pod.spec?.containers ?? []).flatMap((container) => container.ports ?? []);
  const chosen = port === '' ? ports[0] : ports.find((each) => each.name === port);
  return { scheme, host, port: chosen?.containerPort ?? numberOf(port, scheme) };
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
  const place = anyPlace(endpoints, portName, core.ids, (address) => mayReach(core, namespace, address));
  if (place !== undefined) return { scheme, ...place };
  throw noService(
    `no endpoints available for service "${(endpoints.subsets ?? []).length === 0 ? name : target.text}"`,
  );
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

/** Without `Retry-After`: clients would wait silently. */
const noService = (message: string, cause?: unknown): StatusError =>
  new StatusError({ code: 503, reason: 'ServiceUnavailable', message, cause });

export const unreachable = (why: string, cause: Error): StatusError =>
  noService(`error trying to reach service: ${why}`, cause);
