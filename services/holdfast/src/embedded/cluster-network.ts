import type { Service as KubeService } from '@holdfast/api';
import { type ClusterNetwork, readClusterNetwork } from '@holdfast/controller-manager';
import type { ClusterNames } from '@holdfast/kubelet/cluster-names';
import type { PodNetwork, PolicyGate } from '@holdfast/kubelet/pod-network';
import { ADMIN_USER } from '@holdfast/pki/credentials';
import type { Service } from '@holdfast/platform';
import { badSetting } from '@holdfast/platform/config';
import type { Proxy, RelayedServer, StartingPod } from '@holdfast/proxy';
import type { StartConfig } from '../config.ts';
import { answeredAddresses, isAnswered, SERVICE_NETWORK } from '../pod-network/cluster-addresses.ts';
import { hostOnMachine } from './api-place.ts';
import type { ComponentsDeps } from './components.ts';
import { publishDns } from './dns-service.ts';
import type { PodNetworks } from './pod-network-choice.ts';

/** Whether pods reach the cluster address of a service. */
export const routedBy =
  ({ canFilter }: PodNetworks) =>
  (service: KubeService): boolean =>
    canFilter() || isAnswered(service);

export interface ClusterPodNetwork extends Service {
  readonly network: PodNetwork;
  /** Absent: nothing here enforces network policies. */
  readonly policies: PolicyGate | undefined;
}

/** The network of all process pods of this cluster. Stopping it ends it: an embedded cluster leaves nothing behind. */
export function createClusterNetwork(
  deps: ComponentsDeps,
  names: ClusterNames | undefined,
): ClusterPodNetwork | undefined {
  const { machine, config, front, directory, podNetworks } = deps;
  if (podNetworks === undefined) return undefined;
  const api = { tcp: () => ({ host: hostOnMachine(config.host), port: front.https.address().port }) };
  const { targets, relays, relayed } = answeredAddresses(api, names);
  const network = podNetworks.createPodNetwork({
    ...machine,
    directory: directory.networkFolder,
    clusterNetwork: config.clusterCidr,
    serviceNetwork: SERVICE_NETWORK,
    targets,
    relays: () => relays,
  });
  front.nodes.reachPods((place) => (network.covers(place.host) ? network.dial(place) : undefined));
  const rules = podNetworks.canFilter() ? createRules(deps, network, relayed) : undefined;
  return {
    name: 'network of pods',
    network,
    policies: rules?.policies,
    start: async () => {
      await names?.start();
      await network.start();
      if (names !== undefined) void publishDns(front.clientOf(ADMIN_USER), machine.log);
    },
    stop: async () => {
      await rules?.stop();
      await network.shutdown();
    },
  };
}

/** The rules of services. They begin with the first pod: before it there is no network, and none is made for them. */
function createRules(deps: ComponentsDeps, network: PodNetwork, relayed: readonly RelayedServer[]) {
  let rules: Promise<Proxy> | undefined;
  let begun: Proxy | undefined;
  let isStopped = false;
  const create = async (): Promise<Proxy> => {
    const { createServiceRules } = await import('./service-rules.ts');
    const made = createServiceRules(deps, { network, relayed });
    begun = made;
    void made.start().catch((error: unknown) => {
      if (!isStopped) deps.machine.log.error('the addresses of services are not routed', { error });
    });
    return made;
  };
  const unsubscribe = network.onOpen(() => {
    // A later connection may lead to a new network, which has no rules.
    if (rules === undefined) rules = create();
    else void rules.then((made) => made.rewrite());
  });
  return {
    policies: {
      // The first connection to the network, which the address of the pod came over, has begun the rules.
      admit: async (pod: StartingPod) => (await rules)?.admitPod(pod),
      leave: (id: string) => void rules?.then((made) => made.podLeft(id)),
      failure: () => begun?.failure(),
    },
    stop: async () => {
      isStopped = true;
      unsubscribe();
      await (await rules)?.stop();
    },
  };
}

/** For the controller that gives nodes their networks. */
export function clusterNetworksOf({ clusterCidr, nodeCidrMaskSize }: StartConfig): readonly ClusterNetwork[] {
  const read = readClusterNetwork(clusterCidr, nodeCidrMaskSize);
  if (typeof read === 'string') throw badSetting(`--cluster-cidr: ${read}`);
  return [read];
}
