import { MACHINE_LINK, type PodNetwork } from '@holdfast/kubelet/pod-network';
import { PROXY_USER } from '@holdfast/pki/credentials';
import { createNftFilter, createProxy, DEFAULT_PROXY_OPTIONS, type Proxy, type RelayedServer } from '@holdfast/proxy';
import type { ComponentsDeps } from './components.ts';

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
    filter: createNftFilter({ ...machine, run: (args, input) => to.network.nft(args, input) }),
    relayed: to.relayed,
    machineLink: MACHINE_LINK,
    options: { ...DEFAULT_PROXY_OPTIONS, clusterCidrs: [config.clusterCidr] },
  });
