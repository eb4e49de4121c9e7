import type { Pod } from '@holdfast/api';
import type { RelayedServer } from '../proxy-deps.ts';

/**
 * The pod that policies take a server for: a policy that allows the pods of the cluster's DNS allows the server that
 * answers in their place. No pod of the API has such a name, and none runs on a node, so no policy isolates it.
 */
export function relayedPod({ address, seenAs }: RelayedServer): readonly Pod[] {
  if (seenAs === undefined) return [];
  const { namespace, labels, ports } = seenAs;
  return [
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        namespace,
        name: `:${address}`,
        uid: `relayed-${address.replaceAll(/[.:]/g, '-')}`,
        labels: { ...labels },
      },
      spec: { containers: [{ name: 'server', resources: {}, ports: ports.map((port) => ({ ...port })) }] },
      status: { phase: 'Running', podIPs: [{ ip: address }] },
    },
  ];
}
