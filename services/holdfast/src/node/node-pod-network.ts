import { join } from 'node:path';
import { connectComponent } from '@holdfast/client/component-config';
import { type ClusterNames, createClusterNames } from '@holdfast/kubelet/cluster-names';
import type { OpenPodNetwork, PodNetworkPart } from '@holdfast/kubelet/node-process';
import {
  createNodeNetwork,
  createPodNetwork,
  MACHINE_ADDRESS,
  MACHINE_LINK,
  nodeCidr,
  type PodNetwork,
  readRouteTable,
  runProgram,
} from '@holdfast/kubelet/pod-network';
import { opened, type Service, stopInReverse } from '@holdfast/platform';
import {
  createHealthz,
  createNftFilter,
  createProxy,
  DEFAULT_PROXY_OPTIONS,
  Entrances,
  HostPortEntrances,
  HttpHealthPorts,
  isFollowing,
  NodePortEntrances,
  openTcpPort,
  openUdpPort,
  type Proxy,
  type RelayedServer,
} from '@holdfast/proxy';
import { answeredAddresses, DNS_SERVICE_ADDRESS, SERVICE_NETWORK } from '../pod-network/cluster-addresses.ts';
import type { NodeConfig } from './config.ts';
import { createLivingServer } from './living-server.ts';
import { NodeRoutes } from './node-routes.ts';

type Tools = Parameters<OpenPodNetwork>[0];

/** Short, because paths of sockets are. */
const FOLDER = 'network';

/** The part of the cluster's network that this node has, with ways to the parts of the others, services and names. */
export async function createNodePodNetwork(config: NodeConfig, tools: Tools): Promise<PodNetworkPart> {
  const { kubelet, clusterNetwork } = config;
  const { client, clock, log } = tools;
  const { nodeName } = kubelet;
  const ofProxy = await proxyTools(config, tools);
  const { domain } = kubelet.dns;
  const names =
    kubelet.dns.servers.length > 0 ? undefined : createClusterNames({ ...ofProxy, domain, isRouted: () => true });
  const servers = kubelet.component['api-servers'] ?? [];
  const { targets, relays, relayed } = answeredAddresses({ open: createLivingServer({ servers, clock }) }, names);
  const network = createPodNetwork({
    clock,
    log,
    directory: join(kubelet.stateDirectory, FOLDER),
    clusterNetwork,
    serviceNetwork: SERVICE_NETWORK,
    targets,
    relays: () => relays,
    ownNetwork: () => nodeCidr({ client, clock, nodeName }),
  });
  const proxy = createNodeProxy(config, ofProxy, { network, relayed });
  return {
    network: createNodeNetwork({ network, client, clock, nodeName, policies: gateOf(proxy) }),
    dial: (host, port) => (network.covers(host) ? network.dial({ host, port }) : undefined),
    dns: dnsOf(config, names),
    service: inTurn([
      opened('connection of the proxy', ofProxy.close),
      ...(names === undefined ? [] : [names]),
      { name: 'network of pods', start: () => network.start(), stop: () => network.close() },
      createRoutes(config, ofProxy),
      ...waysIn(nodeName, ofProxy, network).map((each) => inBackground(each, log)),
      ...(config.healthz === undefined ? [] : [createHealthz(config.healthz, proxy, clock)]),
      inBackground(rulesOf(proxy, network), log),
    ]),
  };
}

type ProxyTools = Pick<Tools, 'client' | 'clock' | 'random' | 'ids' | 'log'> & { readonly close: () => Promise<void> };

/** Without the bus: its users hear only of their own node. */
async function proxyTools({ kubelet, proxyTokenFile }: NodeConfig, tools: Tools): Promise<ProxyTools> {
  const { clock, random, ids, log } = tools;
  const component = { ...kubelet.component, bus: undefined, 'token-file': proxyTokenFile };
  const userAgent = `holdfast-proxy/${kubelet.nodeName}`;
  const connection = await connectComponent(component, { clock, log, userAgent });
  return { client: connection.client, clock, random, ids, log, close: () => connection.close() };
}

function createNodeProxy(
  { clusterNetwork, kubelet: { nodeName } }: NodeConfig,
  tools: ProxyTools,
  { network, relayed }: { readonly network: PodNetwork; readonly relayed: readonly RelayedServer[] },
): Proxy {
  const isHealthy = (): boolean => isFollowing(proxy.health().progress, tools.clock.monotonic());
  const proxy: Proxy = createProxy({
    ...tools,
    nodeName,
    filter: createNftFilter({ ...tools, run: (nft) => network.nft(nft) }),
    healthPorts: new HttpHealthPorts({ log: tools.log, isHealthy }),
    relayed,
    machineLink: { name: MACHINE_LINK, address: MACHINE_ADDRESS },
    options: { ...DEFAULT_PROXY_OPTIONS, clusterCidrs: [clusterNetwork] },
  });
  return proxy;
}

/** The rules of services and policies. They need the network of the node, which it gets after the kubelet has registered it. */
function rulesOf(proxy: Proxy, network: PodNetwork): Service {
  let unsubscribe = (): void => {};
  return {
    name: proxy.name,
    start: async () => {
      let isFirst = true;
      unsubscribe = network.onOpen(() => {
        // A later connection may lead to a new network, which has no rules.
        if (!isFirst) proxy.rewrite();
        isFirst = false;
      });
      await proxy.start();
    },
    stop: async () => {
      unsubscribe();
      await proxy.stop();
    },
  };
}

/** The kubelet does not wait for it: the API may be away. */
function inBackground(service: Service, log: Tools['log']): Service {
  let isStopped = false;
  return {
    name: service.name,
    start: async () => {
      void service.start().catch((error: unknown) => {
        if (!isStopped) log.error('a part of the network of this node did not start', { part: service.name, error });
      });
    },
    stop: async () => {
      isStopped = true;
      await service.stop();
    },
  };
}

const gateOf = (proxy: Proxy) => ({
  admit: (pod: Parameters<Proxy['admitPod']>[0]) => proxy.admitPod(pod),
  leave: (id: string) => proxy.podLeft(id),
  failure: () => proxy.failure(),
});

/** Pods on the machine's network ask the same server at the address of the machine. */
function dnsOf({ kubelet: { dns } }: NodeConfig, names: ClusterNames | undefined): PodNetworkPart['dns'] {
  if (names === undefined) return dns;
  return {
    domain: dns.domain,
    get servers() {
      return names.dns.servers;
    },
    serversOfOwnNetworks: [DNS_SERVICE_ADDRESS],
  };
}

const createRoutes = ({ clusterNetwork, kubelet: { nodeName } }: NodeConfig, tools: ProxyTools): Service =>
  new NodeRoutes({
    ...tools,
    nodeName,
    clusterNetwork,
    serviceNetwork: SERVICE_NETWORK,
    ip: (args, input) => runProgram('ip', args, input),
    table: readRouteTable,
  });

/** Node ports and host ports, at every address of the machine. */
function waysIn(nodeName: string, tools: ProxyTools, network: PodNetwork): readonly Service[] {
  const dial = (place: { readonly host: string; readonly port: number }) => network.dial(place);
  const entrances = new Entrances({ ...tools, dial, openTcpPort });
  const hostPorts = new HostPortEntrances({
    ...tools,
    nodeNames: [nodeName],
    dial,
    openTcpPort,
    dialDatagrams: (place, listener) => network.dialDatagrams(place, listener),
    openUdpPort,
  });
  return [
    opened('ways to services', () => entrances.stop()),
    new NodePortEntrances({ ...tools, entrances, host: '0.0.0.0' }),
    hostPorts,
  ];
}

/** The API server may be away: what reads from it starts anyway. */
const inTurn = (services: readonly Service[]): Service => ({
  name: 'network of pods',
  start: async () => {
    for (const each of services) await each.start();
  },
  stop: () => stopInReverse(services),
});
