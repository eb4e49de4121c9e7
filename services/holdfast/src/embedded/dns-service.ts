import { type Service as KubeService, SERVICES } from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { StatusError } from '@holdfast/machinery';
import type { Log } from '@holdfast/platform';
import { DNS_SERVICE_ADDRESS } from '../pod-network/cluster-addresses.ts';

const DNS_SERVICE = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'kube-dns', namespace: 'kube-system', labels: { 'k8s-app': 'kube-dns' } },
  spec: {
    clusterIP: DNS_SERVICE_ADDRESS,
    ports: [
      { name: 'dns', port: 53, protocol: 'UDP' },
      { name: 'dns-tcp', port: 53, protocol: 'TCP' },
    ],
  },
} as const;

/** Shows the address of DNS, and keeps it from other services. A user may have changed or replaced it. */
export async function publishDns(client: ApiClient, log: Log): Promise<void> {
  try {
    await client.create(SERVICES, structuredClone(DNS_SERVICE) as unknown as KubeService);
  } catch (error) {
    if (error instanceof StatusError && (error.reason === 'AlreadyExists' || error.code === 422)) return;
    log.warn('the service of DNS was not created', { error });
  }
}
