import type { Service as KubeService } from '@holdfast/api';
import { type ClusterNetwork, readClusterNetwork } from '@holdfast/controller-manager';
import type { ClusterNames } from '@holdfast/kubelet/cluster-names';
import type { OutsideTarget, PodNetwork, Relay } from '@holdfast/kubelet/pod-network';
import type { Service } from '@holdfast/platform';
import { badSetting } from '@holdfast/platform/config';
import type { StartConfig } from '../config.ts';
import { hostOnMachine } from './api-place.ts';
import type { ComponentsDeps } from './components.ts';

/** The first address of the network of services, which the service `kubernetes` has. */
const API_SERVICE_ADDRESS = '10.96.0.1';
export const DNS_SERVICE_ADDRESS = '10.96.0.10';

const API: Relay = { address: API_SERVICE_ADDRESS, port: 443, protocol: 'tcp', target: 'api' };
const DNS: readonly Relay[] = (['tcp', 'udp'] as const).map((protocol) => ({
  address: DNS_SERVICE_ADDRESS,
  port: 53,
  protocol,
  target: 'dns',
}));

/** Pods reach the cluster addresses of the API and of DNS. */
export const isRouted = ({ spec }: KubeService): boolean =>
  spec.clusterIP === API_SERVICE_ADDRESS || spec.clusterIP === DNS_SERVICE_ADDRESS;

/** The network of all process pods of this cluster. Stopping it ends it: an embedded cluster leaves nothing behind. */
export function createClusterNetwork(
  { machine, config, front, directory, podNetworks }: ComponentsDeps,
  names: ClusterNames | undefined,
): (Service & { readonly network: PodNetwork }) | undefined {
  if (podNetworks === undefined) return undefined;
  const api = { tcp: () => ({ host: hostOnMachine(config.host), port: front.https.address().port }) };
  const targets = new Map<string, OutsideTarget>([['api', api]]);
  if (names !== undefined) targets.set('dns', dnsTarget(names));
  const network = podNetworks.createPodNetwork({
    ...machine,
    directory: directory.networkFolder,
    clusterNetwork: config.clusterCidr,
    targets,
    relays: () => [API, ...(names === undefined ? [] : DNS)],
  });
  return {
    name: 'network of pods',
    network,
    start: async () => {
      await names?.start();
      await network.start();
    },
    stop: () => network.shutdown(),
  };
}

const dnsTarget = (names: ClusterNames): OutsideTarget => ({
  datagram: (query) => names.answer(query),
  accept: (connection) => names.accept(connection),
});

/** For the controller that gives nodes their networks. */
export function clusterNetworksOf({ clusterCidr, nodeCidrMaskSize }: StartConfig): readonly ClusterNetwork[] {
  const read = readClusterNetwork(clusterCidr, nodeCidrMaskSize);
  if (typeof read === 'string') throw badSetting(`--cluster-cidr: ${read}`);
  return [read];
}
