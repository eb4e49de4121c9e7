import { mkdirSync } from 'node:fs';
import path from 'node:path';
import type { ApiClient } from '@holdfast/client';
import {
  type ClusterDns,
  type ContainerRuntime,
  createKubelet,
  createMachineProbe,
  createNodeLogDirectory,
  createNodeVolumeDirectories,
  createProbeNetwork,
  DEFAULT_EVICTION_FLAGS,
  DEFAULT_GARBAGE_POLICY,
  type Dial,
  HOLLOW_PROBE_NETWORK,
  hollowNodeFacts,
  isolationCaution,
  type KubeletDeps,
  machineAddress,
  NO_CLUSTER_DNS,
  NodeAddress,
  RuntimeError,
  readEvictionConfig,
  readMachineFacts,
  userRangePool,
} from '@holdfast/kubelet';
import type { ClusterNames } from '@holdfast/kubelet/cluster-names';
import { openContainerRuntime } from '@holdfast/kubelet/container-runtimes';
import { createHollowRuntime } from '@holdfast/kubelet/hollow-runtime';
import type { PodNetwork, PolicyGate } from '@holdfast/kubelet/pod-network';
import { createProcessRuntime } from '@holdfast/kubelet/process-runtime';
import { nodeUser } from '@holdfast/pki/credentials';
import { type Service, stopInReverse } from '@holdfast/platform';
import type { Incarnation } from '../play/actor.ts';
import { DNS_SERVICE_ADDRESS } from '../pod-network/cluster-addresses.ts';
import { hostOnMachine } from './api-place.ts';
import { cast, whole } from './casting.ts';
import type { ComponentsDeps } from './components.ts';
import type { ContainerAnswers } from './container-answers.ts';
import { nodeIdentity } from './node-identity.ts';
import type { NodeRuntime } from './runtime-choice.ts';

/** Grace period of all pods when the cluster stops. */
const SHUTDOWN_GRACE_MS = 5_000;

/** For a developer's machine: its disk may be nearly full, and that must not evict pods. */
const EVICTION = readEvictionConfig({ ...DEFAULT_EVICTION_FLAGS, hard: 'memory.available<100Mi' });

/** Shown below `nodes/NAME/proxy/logs/`. */
const NODE_LOGS = '/var/log';

export interface ProcessNodeDeps extends ComponentsDeps {
  /** DNS for service names in this process, if there is one. */
  readonly names: ClusterNames | undefined;
  /** Absent: pods share the network of the machine. */
  readonly network: PodNetwork | undefined;
  /** Binds pods with an address of their own before they run. */
  readonly policies: PolicyGate | undefined;
}

/**
 * A node whose pods are processes of this machine. Stopping it ends them: an embedded cluster leaves nothing behind.
 */
export function createProcessNode(deps: ProcessNodeDeps, name: string, isFirst: boolean): Incarnation {
  const { machine, bus, front, directory, names } = deps;
  const stateDirectory = directory.nodeFolder(name);
  mkdirSync(stateDirectory, { recursive: true });
  const { bound, ...identity } = nodeIdentity(deps.config.store.kind, stateDirectory, machine.ids);
  const node = { ...readMachineFacts({ name, stateDirectory, sharedBy: deps.nodeNames.real.length }), ...identity };
  const address = new NodeAddress({ ...machine, read: machineAddress });
  const nodeAddress = (): string => address.current();
  const volumes = volumesOf(deps, stateDirectory);
  const above = [path.dirname(stateDirectory), directory.path];
  const client = front.clientOf(nodeUser(name), identity.incarnation);
  const network = nodeNetworkOf(deps, client, name);
  const hidden = directory.hiddenPaths;
  const runtime = createProcessRuntime({ ...machine, stateDirectory, nodeAddress, hidden, above, network });
  const caution = runtime.abilities === undefined ? undefined : isolationCaution(runtime.abilities);
  if (caution !== undefined) deps.cautions.add(caution);
  const kubelet = createKubelet({
    ...machine,
    bus,
    runtime: met(deps, runtime),
    node,
    bound,
    address,
    machine: createMachineProbe(stateDirectory),
    csi: { root: stateDirectory },
    directories: volumes.directories,
    eviction: EVICTION,
    garbage: GARBAGE,
    selfFencing: 'exclusive',
    files: createNodeLogDirectory(NODE_LOGS),
    userRanges: userRangesOf(deps, name),
    ownIds: userRangePool(deps.nodeNames.real.indexOf(name)),
    dns: dnsOf(deps),
    ownNetworks: network !== undefined,
    api: () => ({ host: hostOnMachine(deps.config.host), port: front.https.address().port }),
    client,
    network: createProbeNetwork(machine.clock, dialOf(deps.network)),
  });
  front.nodes.add(name, kubelet.api);
  return {
    name: kubelet.name,
    start: async () => {
      // A killed kubelet left pods that use them.
      if (isFirst) await volumes.forget();
      // A pod keeps the DNS settings of its start.
      await names?.start();
      await kubelet.start();
    },
    stop: () =>
      stopInReverse([
        { stop: () => volumes.forget() },
        { stop: () => runtime.close() },
        { stop: () => kubelet.unmountAll() },
        { stop: () => runtime.shutdown(SHUTDOWN_GRACE_MS) },
        kubelet,
      ]),
    abandon: () => stopInReverse([{ stop: () => runtime.close() }, kubelet]),
  };
}

function nodeNetworkOf(deps: ProcessNodeDeps, client: ApiClient, nodeName: string) {
  const { network, policies, podNetworks, machine } = deps;
  if (network === undefined) return undefined;
  return podNetworks?.createNodeNetwork({ network, policies, client, clock: machine.clock, nodeName });
}

/** Pods with a network of their own do not reach the addresses that others ask. */
function dnsOf(deps: ProcessNodeDeps): ClusterDns {
  const { names, network } = deps;
  if (names === undefined) return givenDns(deps);
  if (network === undefined) return names.dns;
  return {
    domain: names.dns.domain,
    get servers() {
      return names.dns.servers;
    },
    serversOfOwnNetworks: [DNS_SERVICE_ADDRESS],
  };
}

const dialOf =
  (network: PodNetwork | undefined): Dial =>
  (host, port) =>
    network?.covers(host) === true ? network.dial({ host, port }) : undefined;

/**
 * The directories of the node's volumes. A cluster that keeps its objects in memory forgets them with the objects; it
 * has a folder of its own, because another start in the same data directory may have kept its objects.
 */
function volumesOf({ config }: ComponentsDeps, stateDirectory: string) {
  const isForgotten = config.store.kind === 'memory';
  const directories = createNodeVolumeDirectories(
    path.join(stateDirectory, isForgotten ? 'memory-volumes' : 'volumes'),
  );
  return { directories, forget: async () => (isForgotten ? directories.removeAll() : undefined) };
}

const met = ({ runtimeOf }: ComponentsDeps, runtime: ContainerRuntime): ContainerRuntime =>
  runtimeOf?.(runtime) ?? runtime;

/** Never deletes images of a runtime that somebody uses, however full the disk is. */
const GARBAGE = { ...DEFAULT_GARBAGE_POLICY, images: { ...DEFAULT_GARBAGE_POLICY.images, highPercent: 100 } };

/** The nodes of this machine use disjoint id ranges. */
const userRangesOf = ({ config, nodeNames }: ComponentsDeps, name: string): KubeletDeps['userRanges'] =>
  config.features.userNamespacesSupport ? userRangePool(nodeNames.real.indexOf(name)) : undefined;

export interface ContainerNodeDeps extends ComponentsDeps {
  /** Absent: nothing of this process answers containers at cluster addresses. */
  readonly answers: ContainerAnswers | undefined;
}

/** A node whose pods are containers of a local runtime. Stopping it ends them, as with processes. */
export function createContainerNode(
  deps: ContainerNodeDeps,
  name: string,
  { kind, ...chosen }: Exclude<NodeRuntime, { kind: 'process' }>,
  isFirst: boolean,
): Incarnation {
  const { machine, bus, front, directory, config } = deps;
  const running: { stop(): Promise<void> }[] = [];
  const ofProcess: { stop(): Promise<void> }[] = [];
  const start = async (): Promise<void> => {
    const stateDirectory = directory.nodeFolder(name);
    mkdirSync(stateDirectory, { recursive: true });
    const { bound, ...identity } = nodeIdentity(config.store.kind, stateDirectory, machine.ids);
    const volumes = volumesOf(deps, stateDirectory);
    if (isFirst) await volumes.forget();
    const sharedBy = deps.nodeNames.real.length;
    const facts = { ...readMachineFacts({ name, stateDirectory, sharedBy, hasContainers: true }), ...identity };
    const address = new NodeAddress({ ...machine, read: machineAddress });
    const place = { ...chosen, stateDirectory, nodeName: name, nodeAddress: () => address.current() };
    const { runtime, runtimeName } = await openContainerRuntime(kind, { ...machine, ...place });
    const kubelet = createKubelet({
      ...machine,
      bus,
      runtime: met(deps, runtime),
      node: { ...facts, runtimeName },
      bound,
      address,
      machine: createMachineProbe(stateDirectory),
      csi: { root: stateDirectory },
      directories: volumes.directories,
      eviction: EVICTION,
      garbage: GARBAGE,
      selfFencing: 'exclusive',
      files: createNodeLogDirectory(NODE_LOGS),
      userRanges: userRangesOf(deps, name),
      dns: deps.answers?.names?.dns ?? givenDns(deps),
      client: front.clientOf(nodeUser(name), identity.incarnation),
      network: createProbeNetwork(machine.clock),
    });
    front.nodes.add(name, kubelet.api);
    running.push(
      { stop: () => volumes.forget() },
      { stop: () => kubelet.unmountAll() },
      { stop: () => endPods(runtime, config.store.kind === 'memory') },
      kubelet,
    );
    ofProcess.push({ stop: () => runtime.close() }, kubelet);
    // A pod keeps the DNS settings of its start.
    await deps.answers?.start();
    await kubelet.start();
  };
  return {
    name: `kubelet ${name}`,
    start,
    stop: () => stopInReverse(running.splice(0)),
    abandon: () => stopInReverse(ofProcess.splice(0)),
  };
}

const givenDns = ({ config }: ComponentsDeps): ClusterDns => ({ ...NO_CLUSTER_DNS, servers: config.clusterDns ?? [] });

/** `forget`: the next start does not know them. A runtime that does not respond keeps its pods. */
async function endPods(runtime: ContainerRuntime, forget: boolean): Promise<void> {
  try {
    const sandboxes = await runtime.list();
    await Promise.all(sandboxes.map(({ id }) => runtime.stopSandbox(id, SHUTDOWN_GRACE_MS)));
    if (forget) await Promise.all(sandboxes.map(({ id }) => runtime.removeSandbox(id)));
    runtime.volumes?.release?.();
  } catch (error) {
    if (!(error instanceof RuntimeError)) throw error;
  } finally {
    await runtime.close();
  }
}

/** Nodes that only simulate pods. They stop in parallel: one after the other, thousands would take minutes. */
export function createHollowNodes(deps: ComponentsDeps, names: readonly string[]): Service {
  const nodes = names.map((name, index) => createHollowNode(deps, name, index));
  const all = async (work: (node: Service) => Promise<void>): Promise<void> => {
    await Promise.all(nodes.map(work));
  };
  return {
    name: 'hollow nodes',
    start: () => all((node) => node.start()),
    stop: () => all((node) => node.stop()),
  };
}

/** The simulated machine outlives its kubelet. */
function createHollowNode(deps: ComponentsDeps, name: string, index: number): Service {
  const hollow = createHollowRuntime({ ...deps.machine, nodeName: name });
  return cast(deps, name, 'node', (way, isFirst) => {
    const { machine, bus, front } = way;
    const runtime = isFirst ? hollow : hollow.connect();
    const kubelet = createKubelet({
      ...machine,
      bus,
      runtime: met(way, runtime),
      node: hollowNodeFacts({ name, address: hollowAddress(index) }),
      client: front.clientOf(nodeUser(name)),
      network: HOLLOW_PROBE_NETWORK,
    });
    front.nodes.add(name, kubelet.api);
    return { ...whole(kubelet), abandon: () => stopInReverse([{ stop: () => runtime.close() }, kubelet]) };
  });
}

/** In 198.18.0.0/15, which is reserved for benchmarks and never routed. */
function hollowAddress(index: number): string {
  return `198.18.${Math.floor(index / 250)}.${(index % 250) + 1}`;
}
