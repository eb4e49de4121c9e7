import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { ApiClient, ApiHandler } from '@holdfast/client';
import { type Component, openComponent } from '@holdfast/client/component-config';
import {
  type Clock,
  createIds,
  createSystemRandom,
  type Log,
  OperatorError,
  type Service,
  stopInReverse,
} from '@holdfast/platform';
import { healthServers } from '@holdfast/platform/health-server';
import { watchPair } from '@holdfast/platform/pair-watch';
import { readAuthority, readPair } from '@holdfast/platform/setting-files';
import { createCniDirectory } from './adapters/cni-directory.ts';
import { boundRecord, readIncarnation } from './adapters/incarnation.ts';
import { machineAddress, readMachineFacts } from './adapters/machine-facts.ts';
import { createMachineProbe } from './adapters/machine-probe.ts';
import { createNodeLogDirectory } from './adapters/node-log-directory.ts';
import { createNodeVolumeDirectories } from './adapters/node-volume-directories.ts';
import { createProbeNetwork, type Dial } from './adapters/probe-network.ts';
import { createKubelet, type Kubelet } from './app.ts';
import type { KubeletConfig } from './config.ts';
import { isolationCaution } from './domain/isolation-caution.ts';
import type { ClusterDns } from './domain/network-identity.ts';
import { userRangePool } from './domain/user-ranges.ts';
import { allocatableOf } from './eviction/allocatable.ts';
import { NodeAddress } from './node/node-address.ts';
import type { StaticPodSource } from './pod/static-pods.ts';
import type { ContainerRuntime } from './runtime/port.ts';
import type { ProcessNetwork } from './runtime/process/process-network.ts';
import { createNodeAccess } from './server/node-access.ts';
import type { NodeServer } from './server/node-server.ts';

/** What a composition adds to the node: networks for its pods. */
export interface PodNetworkPart {
  readonly network: ProcessNetwork;
  /** Connections to pods. */
  readonly dial: Dial;
  readonly dns: ClusterDns;
  /** Starts before the kubelet and stops after it. */
  readonly service: Service;
}

/** `undefined`: pods share the network of the machine. */
export type OpenPodNetwork = (
  tools: Omit<Component, 'connection'> & { readonly config: KubeletConfig },
) => Promise<PodNetworkPart | undefined>;

/** One node in its own process. Its pods continue to run when it stops. */
export async function startProcess(config: KubeletConfig, log: Log, openPodNetwork?: OpenPodNetwork): Promise<Service> {
  const {
    nodeName: name,
    nodeLabels: labels,
    stateDirectory,
    maxPods,
    nodesOnMachine: sharedBy,
    logDirectory,
  } = config;
  mkdirSync(stateDirectory, { recursive: true, mode: 0o700 });
  requireDevice(config.watchdogDevice);
  const incarnation = readIncarnation(stateDirectory, createIds(createSystemRandom()));
  const hasContainers = config.runtime !== 'process';
  const facts = readMachineFacts({ name, labels, stateDirectory, maxPods, sharedBy, hasContainers });
  const { connection, ...tools } = await openComponent(config.component, {
    name: 'kubelet',
    log,
    userAgent: `holdfast-kubelet/${name}`,
    incarnation,
  });
  const { client, clock } = tools;
  const address = new NodeAddress({ read: machineAddress, clock, log });
  const pods = await openPodNetwork?.({ ...tools, config });
  const nodeAddress = (): string => address.current();
  const { runtime, runtimeName } = await openRuntime(config, { clock, log, nodeAddress, network: pods?.network });
  const caution = runtime.abilities === undefined ? undefined : isolationCaution(runtime.abilities);
  if (caution !== undefined) log.warn(caution);
  const server = await openServer(config, { client, clock, log, handle: (request) => kubelet.api(request) });
  const allocatable = allocatableOf(facts.allocatable, config.reserved, config.eviction);
  const { taints, eviction, garbage, shutdownPeriods, userRanges, selfFencing, selfFencingSeconds } = config;
  const { dns } = pods ?? config;
  const described = { ...facts, incarnation, runtimeName, allocatable, taints };
  const node = { ...described, ...(server === undefined ? {} : { kubeletPort: server.port() }) };
  const network = createProbeNetwork(clock, pods?.dial);
  const staticPods = await openStaticPods(config, { clock, log });
  const probe = createMachineProbe(stateDirectory);
  const ways = { runtime, network, dns, staticPods };
  const parts = {
    ...tools,
    ...ways,
    node,
    address,
    eviction,
    garbage,
    shutdownPeriods,
    userRanges,
    selfFencing,
    selfFencingSeconds,
    ownNetworks: pods !== undefined,
    ownIds: userRangePool(),
    machine: probe,
    csi: { root: stateDirectory },
    directories: createNodeVolumeDirectories(join(stateDirectory, 'volumes')),
    bound: boundRecord(stateDirectory),
    ...(logDirectory === '' ? {} : { files: createNodeLogDirectory(logDirectory) }),
  };
  const kubelet: Kubelet = createKubelet(parts);
  const cni = await startContainerNetwork(config, { client, clock, log });
  await pods?.service.start();
  await kubelet.start();
  const health = healthServers('kubelet', config.component['health-address'], () => kubelet.health());
  for (const each of health) await each.start();
  const closing = { stop: () => runtime.close() };
  const shuttingDown = { stop: () => kubelet.shutDown() };
  const servers = server === undefined ? [] : [server];
  const networks = pods === undefined ? cni : [...cni, pods.service];
  const running = [connection, closing, ...networks, kubelet, ...servers, shuttingDown, ...health];
  return { ...kubelet, stop: () => stopInReverse(running) };
}

/** Pods outlive this process, and so does their network. */
async function startContainerNetwork(
  { cniDirectory: directory, runtime, nodeName: name }: KubeletConfig,
  { client, ...machine }: { readonly client: ApiClient; readonly clock: Clock; readonly log: Log },
): Promise<readonly Service[]> {
  if (directory === undefined || runtime !== 'cri') return [];
  const cni = createCniDirectory({ ...machine, directory, nodes: [{ name, client }], isRemovedAtStop: false });
  await cni.start();
  return [cni];
}

/** The watchdog opens it; a name that is wrong is found here. */
function requireDevice(path: string | undefined): void {
  if (path === undefined || existsSync(path)) return;
  throw new OperatorError({
    code: 'BadSetting',
    message: `--watchdog-device ${path} does not exist on this machine`,
    nextStep:
      'Load its driver (modprobe softdog soft_margin=9: 1 s more than --self-fencing-seconds), or leave the setting out.',
    exitCode: 2,
  });
}

async function openStaticPods(
  { staticPodPath: directory, nodeName }: KubeletConfig,
  machine: { readonly clock: Clock; readonly log: Log },
): Promise<StaticPodSource | undefined> {
  if (directory === undefined) return undefined;
  const { createStaticPodDirectory } = await import('./adapters/static-pod-directory.ts');
  return createStaticPodDirectory({ ...machine, directory, nodeName });
}

/** Listens before the node reports its port. */
async function openServer(
  { server: config, nodeName }: KubeletConfig,
  deps: { readonly client: ApiClient; readonly clock: Clock; readonly log: Log; readonly handle: ApiHandler },
): Promise<NodeServer | undefined> {
  if (config === undefined) return undefined;
  const { createNodeServer } = await import('./server/node-server.ts');
  const [pair, clientCa] = await Promise.all([
    readPair(config.certFile, config.keyFile),
    readAuthority(config.clientCaFile),
  ]);
  const server = createNodeServer({
    ...config,
    log: deps.log,
    handle: deps.handle,
    access: createNodeAccess({ client: deps.client, clock: deps.clock, nodeName }),
    tls: { ...pair, clientCa },
  });
  await server.start();
  const { clock, log } = deps;
  const files = watchPair({ ...config, pair, renew: server.renew, clock, log });
  await files.start();
  return { ...server, stop: () => stopInReverse([server, files]) };
}

/** Only the one that is used is loaded. */
async function openRuntime(
  { stateDirectory, runtime: kind, runtimeEndpoint, sandboxImage, logs, nodeName, watchdogDevice }: KubeletConfig,
  {
    network,
    ...machine
  }: {
    readonly clock: Clock;
    readonly log: Log;
    readonly nodeAddress: () => string;
    readonly network: ProcessNetwork | undefined;
  },
): Promise<{ readonly runtime: ContainerRuntime; readonly runtimeName: string }> {
  if (kind === 'process') {
    const { createProcessRuntime } = await import('./runtime/process/index.ts');
    return {
      runtime: createProcessRuntime({ ...machine, network, stateDirectory, logs, watchdogDevice }),
      runtimeName: 'process',
    };
  }
  const { CONTAINER_ENDPOINTS, openContainerRuntime } = await import('./runtime/container-runtimes.ts');
  const endpoint = runtimeEndpoint ?? CONTAINER_ENDPOINTS[kind];
  const node = { stateDirectory, nodeName, logs, watchdogDevice };
  return openContainerRuntime(kind, { ...machine, ...node, endpoint, sandboxImage });
}
