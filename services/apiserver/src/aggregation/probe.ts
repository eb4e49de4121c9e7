import type { IncomingMessage } from 'node:http';
import { type Availability, failedDiscovery, PASSED_AVAILABILITY } from '@holdfast/api';
import type { Clock } from '@holdfast/platform';
import { AGGREGATED_DISCOVERY_BYTES_MAX, AGGREGATED_DISCOVERY_MS, AVAILABILITY_ADDRESSES_ASKED } from '../limits.ts';
import type { CallTarget } from '../service-calls/port.ts';
import { tlsFailureOf } from '../service-calls/tls.ts';
import type { RemoteApi } from './api-services.ts';
import { identityHeaders } from './identity-headers.ts';
import type { RemoteConnections } from './remote-connection.ts';

export interface ProbeDeps {
  readonly connections: RemoteConnections;
  readonly clock: Clock;
}

/** The identity for discovery requests to other servers: they show it everything. */
export const AGGREGATOR = { name: 'system:kube-aggregator', groups: ['system:masters'] } as const;

/** The path of an API's resource list. */
export const discoveryPathOf = ({ group, version }: Pick<RemoteApi, 'group' | 'version'>): string =>
  group === '' ? `/api/${version}` : `/apis/${group}/${version}`;

/** Asks an API for the list of its resources, at some of its addresses. One that answers is enough. */
export async function probe(deps: ProbeDeps, api: RemoteApi): Promise<Availability> {
  const places = new Map<string, CallTarget>();
  for (let i = 0; i < AVAILABILITY_ADDRESSES_ASKED; i++) {
    const target = deps.connections.find(api);
    if (typeof target === 'string') return failedDiscovery(target);
    places.set(`${target.connectTo?.host}:${target.connectTo?.port}`, target);
  }
  const attempts = Array.from(places.values(), (target) => ask(deps, api, target));
  try {
    await Promise.any(attempts);
    return PASSED_AVAILABILITY;
  } catch {
    const results = await Promise.allSettled(attempts);
    const last = results.findLast((result) => result.status === 'rejected');
    return failedDiscovery(last?.reason instanceof Error ? last.reason.message : 'no answer');
  }
}

/** Rejects with words that name the address. */
function ask({ connections, clock }: ProbeDeps, api: RemoteApi, target: CallTarget): Promise<void> {
  const { host = '', port = 0 } = target.connectTo ?? {};
  const path = discoveryPathOf(api);
  const url = `https://${host.includes(':') ? `[${host}]` : host}:${port}${path}`;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const fail = (why: string): void => reject(new Error(`failing or missing response from ${url}: ${why}`));
  // As in Kubernetes, this only checks that the server responds. Requests of clients verify the certificate.
  const request = connections.open({
    target: { ...target, insecure: true },
    method: 'GET',
    path,
    headers: { host: new URL(target.url).host, accept: 'application/json', ...identityHeaders(AGGREGATOR) },
  });
  const asked = `Get ${JSON.stringify(url)}`;
  const late = `${asked}: context deadline exceeded (Client.Timeout exceeded while awaiting headers)`;
  const deadline = clock.timer(AGGREGATED_DISCOVERY_MS, () => {
    fail(late);
    request.destroy();
  });
  request.on('error', (error) => fail(`${asked}: ${tlsFailureOf(error)}`));
  request.once('response', (answer: IncomingMessage) => {
    const status = answer.statusCode ?? 0;
    if (status >= 200 && status <= 299) resolve();
    else fail(`bad status from ${url}: ${status}`);
    answer.on('error', () => {});
    // The connection is used again when the rest is short and comes in time.
    let size = 0;
    answer.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > AGGREGATED_DISCOVERY_BYTES_MAX) request.destroy();
    });
  });
  request.once('close', () => deadline.cancel());
  request.end();
  return promise;
}
