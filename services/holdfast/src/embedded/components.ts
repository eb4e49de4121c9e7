import { hostname } from 'node:os';
import type { Bus } from '@holdfast/bus';
import { createControllerManager, type LoadBalancers } from '@holdfast/controller-manager';
import { type ContainerRuntime, createCniDirectory } from '@holdfast/kubelet';
import { type ClusterNames, createClusterNames } from '@holdfast/kubelet/cluster-names';
import type { ClusterPki } from '@holdfast/pki/cluster-pki';
import {
  CERTIFICATE_CONTROLLER_USER,
  CLUSTER_DNS_USER,
  CONTROLLER_MANAGER_USER,
  nodeUser,
  POD_GC_USER,
  SCHEDULER_USER,
} from '@holdfast/pki/credentials';
import { type Service, stopInReverse } from '@holdfast/platform';
import {
  createScheduler,
  createStatusAccess,
  createStatusServer,
  type SchedulerConfiguration,
} from '@holdfast/scheduler';
import type { StartConfig } from '../config.ts';
import type { Incarnation } from '../play/actor.ts';
import { cast, whole } from './casting.ts';
import type { NodeNames } from './cluster.ts';
import { clusterNetworksOf, createClusterNetwork, routedBy } from './cluster-network.ts';
import { createContainerAnswers } from './container-answers.ts';
import { type ContainerServices, createContainerServices } from './container-services.ts';
import type { ApiFront } from './control-plane.ts';
import type { DataDirectory } from './data-directory.ts';
import { createHostPorts } from './host-ports.ts';
import type { Machine } from './machine.ts';
import { createContainerNode, createHollowNodes, createProcessNode } from './nodes.ts';
import type { PlayTools } from './play.ts';
import type { PodNetworks } from './pod-network-choice.ts';
import type { NodeRuntime } from './runtime-choice.ts';
import { createServiceEntrances } from './service-entrances.ts';

export interface ComponentsDeps {
  readonly machine: Machine;
  readonly config: StartConfig;
  readonly bus: Bus;
  readonly front: ApiFront;
  readonly directory: DataDirectory;
  readonly nodeNames: NodeNames;
  /** Default: the default profile. */
  readonly scheduling: SchedulerConfiguration | undefined;
  /** The authority that signs the API server's certificate and client requests. */
  readonly pki: ClusterPki;
  /** Warnings that the operator gets when the cluster is ready. */
  readonly cautions: Set<string>;
  readonly runtime: NodeRuntime;
  /** Absent: process pods share the network of the machine. */
  readonly podNetworks: PodNetworks | undefined;
  /** Absent: nothing here routes services for containers. */
  readonly containerServices: ContainerServices | undefined;
  /** Absent: the cluster was not started for faults. */
  readonly play: PlayTools | undefined;
  /** The runtime as a kubelet meets it. Absent: as it is. */
  readonly runtimeOf?: (runtime: ContainerRuntime) => ContainerRuntime;
}

/** All API clients: scheduler, controllers and the kubelets of all nodes. */
export function createComponents(deps: ComponentsDeps): readonly Service[] {
  const { config, nodeNames, runtime } = deps;
  const names = createNames(deps);
  const answers = createContainerAnswers(deps);
  const network = createClusterNetwork(deps, names);
  const entrances = createServiceEntrances(deps, network?.network);
  const pods = { names, network: network?.network, policies: network?.policies };
  const nodes = nodeNames.real.map((name) =>
    cast(deps, name, 'node', (way, isFirst) =>
      runtime.kind === 'process'
        ? createProcessNode({ ...way, ...pods }, name, isFirst)
        : createContainerNode({ ...way, answers }, name, runtime, isFirst),
    ),
  );
  return [
    ...(config.without.has('scheduler')
      ? []
      : [cast(deps, 'scheduler', 'master', (way) => createEmbeddedScheduler(way))]),
    ...(config.without.has('controllers')
      ? []
      : [cast(deps, 'controller-manager', 'master', (way) => whole(createControllers(way, entrances?.balancers)))]),
    ...(names === undefined ? [] : [names]),
    ...(network === undefined ? [] : [network]),
    ...(entrances === undefined ? [] : [entrances]),
    ...(network === undefined ? [] : [createHostPorts(deps, network.network)]),
    ...createContainerNetwork(deps),
    ...(answers === undefined ? [] : [answers]),
    ...createContainerServices(deps, answers?.relayed ?? []),
    ...nodes,
    createHollowNodes(deps, nodeNames.hollow),
    // Stops first: components stop in order only when they reach each other.
    ...(deps.play === undefined ? [] : [deps.play.stage]),
  ];
}

/** The network of containers, where this cluster configures it. */
function createContainerNetwork({ machine, config, nodeNames, front, runtime }: ComponentsDeps): readonly Service[] {
  const { cniDirectory: directory } = config;
  if (directory === undefined || runtime.kind !== 'cri') return [];
  const nodes = nodeNames.real.map((name) => ({ name, client: front.clientOf(nodeUser(name)) }));
  return [createCniDirectory({ ...machine, directory, nodes, isRemovedAtStop: true })];
}

/** For processes: containers have their own networks, which cannot reach loopback addresses. */
function createNames({
  machine,
  bus,
  front,
  config,
  nodeNames,
  podNetworks,
  runtime,
}: ComponentsDeps): ClusterNames | undefined {
  if (nodeNames.real.length === 0 || runtime.kind !== 'process' || config.clusterDns !== undefined) return undefined;
  const client = front.clientOf(CLUSTER_DNS_USER);
  return createClusterNames({
    ...machine,
    bus,
    client,
    ...(podNetworks === undefined ? {} : { isRouted: routedBy(podNetworks) }),
  });
}

function createEmbeddedScheduler({ machine, bus, front, config, scheduling, pki }: ComponentsDeps): Incarnation {
  const client = front.clientOf(SCHEDULER_USER);
  const scheduler = createScheduler({
    ...machine,
    bus,
    client,
    host: hostname(),
    podPriority: config.features.podPriority,
    ...(scheduling === undefined
      ? {}
      : { configuration: scheduling, leaderElection: scheduling.leaderElection.leaderElect === true }),
  });
  const address = config.schedulerStatusAddress;
  if (address === undefined) return whole(front.placement.staffedBy(scheduler, scheduler));
  const tls = { certificate: pki.serverCertificate, key: pki.serverKey };
  const access = createStatusAccess({ client, clock: machine.clock });
  const status = createStatusServer({ address, source: scheduler, access, tls });
  const both = {
    name: scheduler.name,
    start: async () => {
      await Promise.all([scheduler.start(), status.start()]);
    },
    stop: () => stopInReverse([scheduler, status]),
  };
  return whole(front.placement.staffedBy(both, scheduler));
}

function createControllers(
  { machine, bus, front, config, pki, podNetworks, containerServices }: ComponentsDeps,
  loadBalancers: LoadBalancers | undefined,
): Service {
  return createControllerManager({
    ...machine,
    bus,
    clients: {
      manager: front.clientOf(CONTROLLER_MANAGER_USER),
      podGc: front.clientOf(POD_GC_USER),
      certificates: front.clientOf(CERTIFICATE_CONTROLLER_USER),
    },
    settings: {
      nodeMonitorGraceSeconds: config.nodeMonitorGraceSeconds,
      rootCa: pki.caCertificate,
      ...(podNetworks === undefined && config.cniDirectory === undefined
        ? {}
        : { clusterNetworks: clusterNetworksOf(config) }),
      ...(loadBalancers === undefined ? {} : { loadBalancers }),
      csiDrivers: config.csiDrivers,
      networkPoliciesEnforced: podNetworks?.canFilter() === true || containerServices?.areBridgesFiltered === true,
      signingAuthority: { certificate: pki.caCertificate, key: pki.caKey },
    },
  });
}
