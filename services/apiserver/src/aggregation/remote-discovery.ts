import type { Clock, Log } from '@holdfast/platform';
import { AGGREGATED_DISCOVERY_BYTES_MAX, AGGREGATED_DISCOVERY_MS } from '../limits.ts';
import type { RemoteApi } from './api-services.ts';
import { type RemoteResource, resourcesOfGroups, resourcesOfList } from './discovery-documents.ts';
import { fetchDocument } from './fetch-document.ts';
import { discoveryPathOf } from './probe.ts';
import type { RemoteConnections } from './remote-connection.ts';

export interface DiscoveryFetchDeps {
  readonly connections: RemoteConnections;
  readonly clock: Clock;
  readonly log: Log;
}

export interface KeptDiscovery {
  readonly resources: readonly RemoteResource[];
  readonly etag: string | undefined;
}

const AGGREGATED_TYPE = 'g=apidiscovery.k8s.io';
const ACCEPTED = ['v2', 'v2beta1']
  .map((version) => `application/json;${AGGREGATED_TYPE};v=${version};as=APIGroupDiscoveryList`)
  .join(', ');

/**
 * Fetches the resources of a version from another server: from its document of all groups, or from its list of that
 * version.
 */
export async function fetchDiscovery(
  deps: DiscoveryFetchDeps,
  api: RemoteApi,
  kept: KeptDiscovery | undefined,
): Promise<KeptDiscovery> {
  const bounds = { api, bytesMax: AGGREGATED_DISCOVERY_BYTES_MAX, timeoutMs: AGGREGATED_DISCOVERY_MS };
  const path = api.group === '' ? '/api' : '/apis';
  const all = await fetchDocument(deps, { ...bounds, path, accept: `${ACCEPTED}, application/json`, etag: kept?.etag });
  if (all.status === 304 && kept !== undefined) return kept;
  if (all.status === 200 && all.contentType.includes(AGGREGATED_TYPE)) {
    return { resources: resourcesOfGroups(all.text, api), etag: all.etag };
  }
  const list = await fetchDocument(deps, { ...bounds, path: discoveryPathOf(api), accept: 'application/json' });
  if (list.status !== 200) throw new Error(`${discoveryPathOf(api)}: status ${list.status}`);
  return { resources: resourcesOfList(list.text), etag: undefined };
}
