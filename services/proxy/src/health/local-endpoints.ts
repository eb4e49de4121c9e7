import { isEndpointReady } from '@holdfast/api';
import type { ServiceView } from '../services/service-fragment.ts';
import type { HealthPort } from './port.ts';

/** The health check port of a service, with its ready endpoints on a node. `undefined`: it has none. */
export function healthPortOf({ service, slices }: ServiceView, nodeName: string | undefined): HealthPort | undefined {
  const { spec, metadata } = service;
  const port = spec.healthCheckNodePort ?? 0;
  if (spec.type !== 'LoadBalancer' || spec.externalTrafficPolicy !== 'Local' || port === 0) return undefined;
  const local = slices
    .flatMap(({ endpoints }) => endpoints ?? [])
    .filter((endpoint) => isEndpointReady(endpoint) && (nodeName === undefined || endpoint.nodeName === nodeName));
  const addresses = new Set(local.flatMap(({ addresses: [address] }) => address ?? []));
  return { namespace: metadata.namespace ?? '', name: metadata.name ?? '', port, localEndpoints: addresses.size };
}
