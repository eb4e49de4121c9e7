import { ENDPOINTS, SERVICES, type WebhookClientConfig } from '@holdfast/api';
import type { Ids } from '@holdfast/platform';
import type { ObjectReader } from '../cache/reader.ts';
import { type CallTarget, WebhookCallError } from './port.ts';
import { type NetPlace, placeOf } from './service-place.ts';

const DEFAULT_PORT = 443;

/**
 * Returns the target of a webhook. A service is reached through its endpoints: not every machine routes its address.
 */
export async function targetOf(
  config: Readonly<WebhookClientConfig>,
  { reader, ids }: { readonly reader: ObjectReader; readonly ids: Ids },
  query = '',
): Promise<CallTarget> {
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

/**
 * The target needs the key of a matching certificate, so any address is acceptable. A string explains why there is
 * none.
 */
async function endpointOf(
  { namespace, name, port }: { namespace: string; name: string; port: number },
  reader: ObjectReader,
  ids: Ids,
): Promise<NetPlace | string> {
  const [service, endpoints] = await Promise.all([
    reader.fresh(SERVICES, { namespace, name }),
    reader.fresh(ENDPOINTS, { namespace, name }),
  ]);
  return placeOf({ name, port, service, endpoints }, ids, () => true);
}
