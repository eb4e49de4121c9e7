import { MACHINE_ADDRESS, MACHINE_LINK, type PodNetwork } from '@holdfast/kubelet/pod-network';
import { PROXY_USER } from '@holdfast/pki/credentials';
import {
  createConntrackFlows,
  createNftFilter,
  createProxy,
  DEFAULT_PROXY_OPTIONS,
  type Proxy,
  type RelayedServer,
} from '@holdfast/proxy';
import type { ComponentsDeps } from './components.ts';
import type { ContainerServices } from './container-services.ts';

/** The proxy of all process nodes: they share one network, and the address of the machine. */
export const createServiceRules = (
  { machine, bus, front, config, nodeNames }: ComponentsDeps,
  to: { readonly network: PodNetwork; readonly relayed: readonly RelayedServer[] },
): Proxy =>
  createProxy({
    ...machine,
    bus,
    client: front.clientOf(PROXY_USER),
    nodeName: nodeNames.real[0] ?? '',
    isForAllNodes: true,
    filter: createNftFilter({ ...machine, run: (nft) => to.network.nft(nft) }),
    relayed: to.relayed,
    machineLink: { name: MACHINE_LINK, address: MACHINE_ADDRESS },
    options: { ...DEFAULT_PROXY_OPTIONS, clusterCidrs: [config.clusterCidr] },
  });

/**
 * The proxy of all nodes whose pods are containers: their bridges are in the network of this machine. An answer that passes
 * no rules on its way over a bridge would have the wrong source, so there every flow gets that of the machine.
 */
export const createContainerRules = (
  { machine, bus, front, nodeNames }: ComponentsDeps,
  { areBridgesFiltered }: ContainerServices,
  relayed: readonly RelayedServer[],
): Proxy =>
  createProxy({
    ...machine,
    bus,
    client: front.clientOf(PROXY_USER),
    nodeName: nodeNames.real[0] ?? '',
    isForAllNodes: true,
    filter: createNftFilter(machine),
    flows: createConntrackFlows(machine),
    relayed,
    options: {
      ...DEFAULT_PROXY_OPTIONS,
      masqueradeAll: !areBridgesFiltered,
      networkPolicies: areBridgesFiltered,
    },
  });
