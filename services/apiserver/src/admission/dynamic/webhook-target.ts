import { ENDPOINTS, SERVICES, type WebhookClientConfig } from '@holdfast/api';
import type { Ids } from '@holdfast/platform';
import type { ObjectReader } from '../../reader.ts';
import { WebhookCallError, type WebhookTarget } from './webhook-caller.ts';

const DEFAULT_PORT = 443;

/** Where a webhook is called. A service is reached through its endpoints: not every machine routes its address. */
export async function targetOf(
  config: Readonly<WebhookClientConfig>,
  { reader, ids }: { readonly reader: ObjectReader; readonly ids: Ids },
  query = '',
): Promise<WebhookTarget> {
  const ca = config.caBundle === undefined || config.caBundle === '' ? {} : { ca: pemOf(config.caBundle) };
  if (config.service === undefined) return { url: withQuery(config.url ?? '', query), ...ca };
  const { namespace, name, path = '', port = DEFAULT_PORT } = config.service;
  const place = path === '' || path.startsWith('/') ? path : `/${path}`;
  const url = withQuery(`https://${name}.${namespace}.svc:${port}${place}`, query);
  const connectTo = await endpointOf({ namespace, name, port }, reader, ids);
  if (typeof connectTo === 'string') throw new WebhookCallError(`Post ${JSON.stringify(url)}: ${connectTo}`);
  return { url, connectTo, ...ca };
}

function withQuery(url: string, query: string): string {
  if (query === '') return url;
  return `${url}${url.includes('?') ? '&' : '?'}${query}`;
}

function pemOf(base64: string): string {
  return Buffer.from(base64, 'base64').toString('utf8');
}

/** A text says why there is none. */
async function endpointOf(
  { namespace, name, port }: { namespace: string; name: string; port: number },
  reader: ObjectReader,
  ids: Ids,
): Promise<{ host: string; port: number } | string> {
  const service = await reader.fresh(SERVICES, { namespace, name });
  if (service === undefined) return `service ${JSON.stringify(name)} not found`;
  const servicePort = (service.spec?.ports ?? []).find((each) => each.port === port);
  if (servicePort === undefined) return `no service port ${port} found for service ${JSON.stringify(name)}`;
  const endpoints = await reader.fresh(ENDPOINTS, { namespace, name });
  const places = (endpoints?.subsets ?? []).flatMap(({ addresses = [], ports = [] }) => {
    const found = ports.find((each) => (each.name ?? '') === (servicePort.name ?? ''));
    return found === undefined ? [] : addresses.map(({ ip }) => ({ host: ip, port: found.port }));
  });
  // Spread over all that serve, without keeping account of them.
  const chosen = places[Number.parseInt(ids.uuid().slice(0, 8), 16) % places.length];
  return chosen ?? `no endpoints available for service ${JSON.stringify(name)}`;
}
