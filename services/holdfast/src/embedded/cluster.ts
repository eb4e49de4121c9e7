import { isIP } from 'node:net';
import type { AuditOptions } from '@holdfast/apiserver';
import { type Encryption, NO_ENCRYPTION } from '@holdfast/apiserver/encryption-setting';
import { ADMIN_USER, type Credential } from '@holdfast/pki/credentials';
import { cautionsOf } from '@holdfast/pki/flaw';
import { EMBEDDED_CONTEXT, formatKubeconfig } from '@holdfast/pki/kubeconfig';
import { type PkiNames, STANDARD_SERVER_NAMES } from '@holdfast/pki/names';
import { opened, Running, type Service, type Tracing } from '@holdfast/platform';
import type { SchedulerConfiguration } from '@holdfast/scheduler';
import type { StartConfig } from '../config.ts';
import { createAnnouncement } from './announcement.ts';
import { ANY_ADDRESS, hostOnMachine } from './api-place.ts';
import { chooseContainerServices } from './container-services.ts';
import type { ApiFront } from './control-plane.ts';
import { DataDirectory } from './data-directory.ts';
import { withFailuresExplained } from './data-directory-failure.ts';
import { lockDataDirectory } from './data-directory-lock.ts';
import type { Machine } from './machine.ts';
import { openBus } from './open-bus.ts';
import { beginStore } from './open-store.ts';
import { ownNodes } from './own-nodes.ts';
import { choosePodNetwork } from './pod-network-choice.ts';
import type { Progress } from './progress.ts';
import { chooseRuntime, type RuntimeProbes } from './runtime-choice.ts';
import type { VirtualTime } from './virtual-time.ts';

export interface EmbeddedClusterDeps {
  readonly machine: Machine;
  readonly config: StartConfig;
  readonly progress: Progress;
  /** Sends the last spans after all components have stopped. */
  readonly tracing: Pick<Tracing, 'stop'>;
  /** Absent: the cluster lives on the clock of its machine. */
  readonly time?: VirtualTime | undefined;
}

interface ClusterFacts {
  readonly url: string;
  readonly kubeconfig: string;
  readonly warnings: readonly string[];
  /** Signs one browser in. Absent: no console. */
  readonly console?: string | undefined;
  /** What `auto` found to run pods. */
  readonly runtime?: string | undefined;
  /** Absent: pods share the network of the machine, and nothing else was asked for. */
  readonly podNetwork?: string | undefined;
  /** With what a new cluster began. */
  readonly began?: string | undefined;
}

export interface EmbeddedCluster extends Service {
  /** Known once started. */
  readonly facts: () => ClusterFacts;
}

/** Number of steps that `start` reports. */
export const START_STEPS = 5;

/** The whole control plane with its nodes in this process, built from the same classes as the distributed form. */
export function createEmbeddedCluster(deps: EmbeddedClusterDeps): EmbeddedCluster {
  const { machine, config, progress, tracing, time } = deps;
  // Deadlines of a stop are for what lives outside of the cluster, too: connections, threads.
  const running = new Running({ ...machine, clock: time?.real ?? machine.clock });
  running.add(opened('traces', () => tracing.stop()));
  const directory = new DataDirectory(config.dataDir, { ephemeral: config.store.kind === 'memory' });
  let facts: ClusterFacts = { url: '', kubeconfig: directory.kubeconfigFile, warnings: [] };
  const start = async (): Promise<void> => {
    const nodeNames = nodeNamesOf(config);
    const choosing = chooseForNodes(config, directory, machine);
    // Reads the files first: a mistake is reported before anything runs.
    const { scheduling, ...apiFiles } = await readFiles(deps, directory);
    const { play } = apiFiles;
    const lock = await lockDataDirectory(directory.path);
    running.add(opened('lock of the data directory', async () => lock.release()));
    const credentials = directory.credentials(nodeNames.all);
    const certificates = directory.certificates(serverNames(config.host), machine.clock.now());
    // The code that awaits them reports a failure.
    for (const begun of [choosing, certificates]) begun.catch(() => {});
    // The threads of the store and of HTTPS start while this thread loads modules, so they begin first.
    const { opening, began } = await beginStore(config, { ...machine, directory: directory.path });
    opening.catch(() => {});
    running.add(opened('store', async () => (await opening.catch(() => undefined))?.close()));
    const pki = await progress.step('certificates', () => certificates);
    const entrance = (await import('./entrance.ts')).createEntrance({ machine, config, pki });
    // Its thread runs already; the port opens much later.
    running.add(entrance.https);
    const { createApiFront } = await import('./control-plane.ts');
    const store = await progress.step(`store (${config.store.kind})`, () => opening);
    const bus = await progress.step(`bus (${config.bus === undefined ? 'local' : 'nats'})`, () =>
      openBus(config, machine, store),
    );
    running.add(opened('bus', () => bus.close()));
    const front = createApiFront({
      machine,
      time,
      config,
      store,
      bus,
      entrance,
      credentials,
      serviceAccountKey: directory.serviceAccountKey(),
      clientCa: pki.caCertificate,
      frontProxy: await directory.frontProxy(machine.clock.now()),
      ...apiFiles,
      ownNodes: ownNodes(config.store.kind, nodeNames.all),
    });
    const components = import('./components.ts');
    components.catch(() => {});
    await progress.step('API server', () => startFront(front, running));
    const { createComponents } = await components;
    const url = urlOf(config, front);
    directory.writeKubeconfig(kubeconfig(url, pki.caCertificate, credentials));
    const { said, caution, ...chosen } = await choosing;
    const cautions = new Set([...(began?.cautions ?? []), ...(caution === undefined ? [] : [caution])]);
    const parts = { machine, config, bus, front, directory, nodeNames, scheduling, pki, cautions, play, ...chosen };
    await progress.step(`scheduler, controllers, ${nodeNames.all.length} node(s)`, () =>
      startTogether(running, [createAnnouncement(config, front), ...createComponents(parts)]),
    );
    const known = [...cautionsOf(pki, machine.clock.now()), ...cautions, ...(store.cautions?.() ?? [])];
    const told = { url, console: consoleOf(front, url), began: began?.text };
    facts = { ...facts, ...said, ...told, warnings: [...known, ...(await front.apiServer.health())] };
  };
  return {
    name: 'holdfast',
    start: () => running.begin(() => withFailuresExplained({ path: directory.path, flag: '--data-dir' }, start)),
    stop: () => time?.end(running.stop()) ?? running.stop(),
    facts: () => facts,
  };
}

async function startTogether(running: Running, services: readonly Service[]): Promise<void> {
  await Promise.all(services.map((service) => running.start(service)));
}

function consoleOf(front: ApiFront, url: string): string | undefined {
  const path = front.consolePath();
  return path === undefined ? undefined : `${url}${path}`;
}

async function readFiles({ config, machine, time }: EmbeddedClusterDeps, directory: DataDirectory) {
  return {
    historyDirectory: directory.historyFolder,
    scheduling: await readScheduling(config),
    audit: await readAudit(config, machine),
    encryption: await readEncryption(config, machine),
    play: config.play ? (await import('./play.ts')).createPlayTools(machine, time) : undefined,
  };
}

async function readScheduling({ schedulerConfig }: StartConfig): Promise<SchedulerConfiguration | undefined> {
  if (schedulerConfig === undefined) return undefined;
  const { readConfigurationFile } = await import('@holdfast/scheduler');
  return readConfigurationFile(schedulerConfig);
}

async function readAudit({ audit }: StartConfig, machine: Machine): Promise<AuditOptions | undefined> {
  if (audit === undefined) return undefined;
  const { openAudit } = await import('@holdfast/apiserver/audit');
  return openAudit(audit, machine);
}

async function readEncryption({ encryptionFile }: StartConfig, machine: Machine): Promise<Encryption> {
  if (encryptionFile === undefined) return NO_ENCRYPTION;
  const { openEncryption } = await import('@holdfast/apiserver/encryption');
  return openEncryption(encryptionFile, machine);
}

export interface NodeNames {
  /** Nodes that run pods as processes of this machine. */
  readonly real: readonly string[];
  /** Nodes that only simulate pods. */
  readonly hollow: readonly string[];
  readonly all: readonly string[];
}

function nodeNamesOf(config: StartConfig): NodeNames {
  const real = Array.from({ length: config.nodes }, (_, i) => `node-${i + 1}`);
  const hollow = Array.from({ length: config.hollowNodes }, (_, i) => `hollow-${i + 1}`);
  return { real, hollow, all: [...real, ...hollow] };
}

/** The API server first: its relay and its port make sense only once it serves. */
async function startFront(front: ApiFront, running: Running): Promise<void> {
  for (const service of front.services) await running.start(service);
}

function serverNames(host: string): PkiNames {
  if (ANY_ADDRESS.has(host)) return STANDARD_SERVER_NAMES;
  const { dnsNames, ipAddresses } = STANDARD_SERVER_NAMES;
  return isIP(host) === 0
    ? { dnsNames: [...dnsNames, host], ipAddresses }
    : { dnsNames, ipAddresses: [...ipAddresses, host] };
}

function urlOf(config: StartConfig, front: ApiFront): string {
  const host = hostOnMachine(config.host);
  return `https://${isIP(host) === 6 ? `[${host}]` : host}:${front.https.address().port}`;
}

function kubeconfig(server: string, caCertificate: string, credentials: ReadonlyMap<string, Credential>): string {
  return formatKubeconfig({
    contexts: [{ name: EMBEDDED_CONTEXT, server }],
    caCertificate,
    token: credentials.get(ADMIN_USER)?.token ?? '',
  });
}

/** What runs the pods of this machine's nodes, and on which network; `said` is for the operator. */
async function chooseForNodes(config: StartConfig, directory: DataDirectory, { clock }: Machine) {
  const { runtime, line } = await chooseRuntime(config, directory, runtimeProbes(clock));
  const { networks: podNetworks, line: podNetwork } = await choosePodNetwork(config, runtime, directory);
  const { services: containerServices, caution } = await chooseContainerServices(config, runtime);
  return { runtime, podNetworks, containerServices, caution, said: { runtime: line, podNetwork } };
}

const runtimeProbes = (clock: Machine['clock']): RuntimeProbes => ({
  isRoot: process.getuid?.() === 0,
  version: async (kind, endpoint) =>
    (await import('@holdfast/kubelet/container-runtimes')).probeContainerRuntime(kind, endpoint, clock),
});
