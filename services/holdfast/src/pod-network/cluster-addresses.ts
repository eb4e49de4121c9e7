import type { Service as KubeService } from '@holdfast/api';
import type { ClusterNames } from '@holdfast/kubelet/cluster-names';
import type { OutsideTarget, Relay } from '@holdfast/kubelet/pod-network';
import type { RelayedServer } from '@holdfast/proxy';

/** The addresses of services, as clusters made by kubeadm have them. */
export const SERVICE_NETWORK = '10.96.0.0/12';

/** The first address of the network of services, which the service `kubernetes` has. */
export const API_SERVICE_ADDRESS = '10.96.0.1';
export const DNS_SERVICE_ADDRESS = '10.96.0.10';

const API: Relay = { address: API_SERVICE_ADDRESS, port: 443, protocol: 'tcp', target: 'api' };
const DNS: readonly Relay[] = (['tcp', 'udp'] as const).map((protocol) => ({
  address: DNS_SERVICE_ADDRESS,
  port: 53,
  protocol,
  target: 'dns',
}));

export const API_SERVER: RelayedServer = { address: API_SERVICE_ADDRESS };

/** Policies for egress select the server of DNS as if it were the pods that answer in other clusters. */
export const DNS_SERVER: RelayedServer = {
  address: DNS_SERVICE_ADDRESS,
  seenAs: {
    namespace: 'kube-system',
    labels: { 'k8s-app': 'kube-dns' },
    ports: [
      { name: 'dns', containerPort: 53, protocol: 'UDP' },
      { name: 'dns-tcp', containerPort: 53, protocol: 'TCP' },
    ],
  },
};

/** The servers that answer in a network of pods at cluster addresses of their own. */
export interface AnsweredAddresses {
  readonly targets: ReadonlyMap<string, OutsideTarget>;
  readonly relays: readonly Relay[];
  /** For the rules of services: they leave these addresses alone. */
  readonly relayed: readonly RelayedServer[];
}

/** `names`: absent: DNS is elsewhere. */
export function answeredAddresses(api: OutsideTarget, names: ClusterNames | undefined): AnsweredAddresses {
  if (names === undefined) return { targets: new Map([['api', api]]), relays: [API], relayed: [API_SERVER] };
  const targets = new Map([
    ['api', api],
    ['dns', dnsTarget(names)],
  ]);
  return { targets, relays: [API, ...DNS], relayed: [API_SERVER, DNS_SERVER] };
}

const dnsTarget = (names: ClusterNames): OutsideTarget => ({
  datagram: (query, source) => names.answer(query, source),
  accept: (connection, source) => names.accept(connection, source),
});

/** The network answers at these addresses without rules. */
export const isAnswered = ({ spec }: KubeService): boolean =>
  spec.clusterIP === API_SERVICE_ADDRESS || spec.clusterIP === DNS_SERVICE_ADDRESS;
