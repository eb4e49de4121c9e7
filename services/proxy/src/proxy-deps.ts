import type { ContainerPort } from '@holdfast/api';
import type { Bus } from '@holdfast/bus';
import type { ApiClient } from '@holdfast/client';
import type { Clock, Ids, Log, Random } from '@holdfast/platform';
import type { FlowTable, PacketFilter } from './filter/port.ts';
import type { HealthPorts } from './health/port.ts';
import type { MachineLink } from './ruleset/base.ts';

export interface ProxyOptions {
  /** The networks of all pods. Empty: those of this node's `spec.podCIDRs`; then cluster addresses work from pods only. */
  readonly clusterCidrs: readonly string[];
  /** Every flow to a cluster address gets this node as its source. */
  readonly masqueradeAll: boolean;
  /** Networks whose addresses of this machine answer at node ports. Empty: the internal addresses of the node. */
  readonly nodePortAddresses: readonly string[];
  /** Whether network policies are enforced. The identity must then be able to list pods, namespaces and policies. */
  readonly networkPolicies: boolean;
}

export const DEFAULT_PROXY_OPTIONS: ProxyOptions = {
  clusterCidrs: [],
  masqueradeAll: false,
  nodePortAddresses: [],
  networkPolicies: true,
};

/** A server of this cluster that answers at a cluster address by itself. No rule translates the address. */
export interface RelayedServer {
  readonly address: string;
  /** The pod that egress policies take it for. Absent: they see its address only. */
  readonly seenAs?: RelayedPod | undefined;
}

export interface RelayedPod {
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly ports: readonly ContainerPort[];
}

export interface ProxyDeps {
  /** Carries the identity `system:kube-proxy`. */
  readonly client: ApiClient;
  /** Without a bus the proxy watches the API. */
  readonly bus?: Bus | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly ids: Ids;
  readonly log: Log;
  readonly nodeName: string;
  /** All nodes share this network namespace: endpoints of each of them are local. */
  readonly isForAllNodes?: boolean | undefined;
  /** Servers that answer in this network without rules. Absent: none. */
  readonly relayed?: readonly RelayedServer[] | undefined;
  /** The link over which programs of the machine reach this network. Policies do not bind them. Absent: there is none. */
  readonly machineLink?: MachineLink | undefined;
  readonly filter: PacketFilter;
  readonly flows?: FlowTable | undefined;
  /** Serves the health check ports of services. Absent: they are closed. */
  readonly healthPorts?: HealthPorts | undefined;
  readonly options: ProxyOptions;
}
