import { SERVICE_NAME_LABEL, SKIP_MIRROR_LABEL } from '@holdfast/api';
import type { ApiHandler } from '@holdfast/client';
import type { Log } from '@holdfast/platform';

export interface ApiAddress {
  /** IPv4; nothing of this machine only, as endpoints refuse that. */
  readonly ip: string;
  readonly port: number;
}

interface Announced {
  readonly path: string;
  readonly object: object;
}

const METADATA = { name: 'kubernetes', namespace: 'default' };
const portsOf = ({ port }: ApiAddress): readonly object[] => [{ name: 'https', port, protocol: 'TCP' }];

const endpointsOf = (at: ApiAddress): Announced => ({
  path: '/api/v1/namespaces/default/endpoints/kubernetes',
  object: {
    apiVersion: 'v1',
    kind: 'Endpoints',
    // The slice is written beside it.
    metadata: { ...METADATA, labels: { [SKIP_MIRROR_LABEL]: 'true' } },
    subsets: [{ addresses: [{ ip: at.ip }], ports: portsOf(at) }],
  },
});

const sliceOf = (at: ApiAddress): Announced => ({
  path: '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes',
  object: {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { ...METADATA, labels: { [SERVICE_NAME_LABEL]: 'kubernetes' } },
    addressType: 'IPv4',
    endpoints: [{ addresses: [at.ip], conditions: { ready: true } }],
    ports: portsOf(at),
  },
});

/** Points the service `kubernetes` to this server only. Writes nothing when it is up to date. */
export async function announce(handle: ApiHandler, log: Log, at: ApiAddress): Promise<void> {
  for (const { path, object } of [endpointsOf(at), sliceOf(at)]) {
    const { status } = await handle({
      method: 'PATCH',
      path,
      query: new URLSearchParams({ fieldManager: 'kube-apiserver', force: 'true' }),
      headers: { 'content-type': 'application/apply-patch+yaml', 'user-agent': 'kube-apiserver' },
      body: JSON.stringify(object),
    });
    if (status >= 300) log.warn('the address of the API could not be published', { path, status, ...at });
  }
}
