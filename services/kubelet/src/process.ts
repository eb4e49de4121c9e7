import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { ApiClient, ApiHandler } from '@holdfast/client';
import { openComponent } from '@holdfast/client/component-config';
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
import { readAuthority, readPair } from '@holdfast/platform/setting-files';
import { createCniDirectory } from './adapters/cni-directory.ts';
import { boundRecord, readIncarnation } from './adapters/incarnation.ts';
import { machineAddress, readMachineFacts } from './adapters/machine-facts.ts';
import { createMachineProbe } from './adapters/machine-probe.ts';
import { createNodeLogDirectory } from './adapters/node-log-directory.ts';
import { createNodeVolumeDirectories } from './adapters/node-volume-directories.ts';
import { createProbeNetwork } from './adapters/probe-network.ts';
import { createKubelet, type Kubelet } from './app.ts';
import type { KubeletConfig } from './config.ts';
import { isolationCaution } from './domain/isolation-caution.ts';
import { userRangePool } from './domain/user-ranges.ts';
import { allocatableOf } from './eviction/allocatable.ts';
import { NodeAddress } from './node/node-address.ts';
import type { StaticPodSource } from './pod/static-pods.ts';
import type { ContainerRuntime } from './runtime/port.ts';
import { createNodeAccess } from './server/node-access.ts';
import type { NodeServer } from './server/node-server.ts';

/** One node in its own process. Its pods continue to run when it stops. */
export async function startProcess(config: KubeletConfig, log: Log): Promise<Service> {
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
  const { runtime, runtimeName } = await openRuntime(config, { clock, log, nodeAddress: () => address.current() });
  const caution = runtime.abilities === undefined ? undefined : isolationCaution(runtime.abilities);
  if (caution !== undefined) log.warn(caution);
  const server = await openServer(config, { client, clock, log, handle: (request) => kubelet.api(request) });
  const allocatable = allocatableOf(facts.allocatable, config.reserved, config.eviction);
  const { taints, eviction, garbage, shutdownPeriods, userRanges, selfFencing, dns } = config;
  const described = { ...facts, incarnation, runtimeName, allocatable, taints };
  const node = { ...described, ...(server === undefined ? {} : { kubeletPort: server.port() }) };
  const network = createProbeNetwork(clock);
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
    ownIds: userRangePool(),
    machine: probe,
    csi: { root: stateDirectory },
    directories: createNodeVolumeDirectories(join(stateDirectory, 'volumes')),
    bound: boundRecord(stateDirectory),
    ...(logDirectory === '' ? {} : { files: createNodeLogDirectory(logDirectory) }),
  };
  const kubelet: Kubelet = createKubelet(parts);
  const cni = await startContainerNetwork(config, { client, clock, log });
  await kubelet.start();
  const health = healthServers('kubelet', config.component['health-address'], () => kubelet.health());
  for (const each of health) await each.start();
  const closing = { stop: () => runtime.close() };
  const shuttingDown = { stop: () => kubelet.shutDown() };
  const servers = server === undefined ? [] : [server];
  const running = [connection, closing, ...cni, kubelet, ...servers, shuttingDown, ...health];
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
    nextStep: 'Load its driver (modprobe softdog soft_margin=9), or leave the setting out.',
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
  return server;
}

/** Only the one that is used is loaded. */
async function openRuntime(
  { stateDirectory, runtime: kind, runtimeEndpoint, sandboxImage, logs, nodeName, watchdogDevice }: KubeletConfig,
  machine: { readonly clock: Clock; readonly log: Log; readonly nodeAddress: () => string },
): Promise<{ readonly runtime: ContainerRuntime; readonly runtimeName: string }> {
  if (kind === 'process') {
    const { createProcessRuntime } = await import('./runtime/process/index.ts');
    return {
      runtime: createProcessRuntime({ ...machine, stateDirectory, logs, watchdogDevice }),
      runtimeName: 'process',
    };
  }
  const { CONTAINER_ENDPOINTS, openContainerRuntime } = await import('./runtime/container-runtimes.ts');
  const endpoint = runtimeEndpoint ?? CONTAINER_ENDPOINTS[kind];
  return openContainerRuntime(kind, { ...machine, endpoint, sandboxImage, stateDirectory, nodeName, logs });
}
