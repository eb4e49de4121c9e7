import { mkdirSync } from 'node:fs';
import path from 'node:path';
import {
  createKubelet,
  createMachineProbe,
  createNodeVolumeDirectories,
  createProbeNetwork,
  DEFAULT_EVICTION_FLAGS,
  type KubeletDeps,
  machineAddress,
  NodeAddress,
  readEvictionConfig,
  readMachineFacts,
  userRangePool,
} from '@holdfast/kubelet';
import { type ClusterNames, createClusterNames } from '@holdfast/kubelet/cluster-names';
import { createProcessRuntime, type ProcessRuntime } from '@holdfast/kubelet/process-runtime';
import { CLUSTER_DNS_USER, nodeUser } from '@holdfast/pki/credentials';
import { type Service, stopInReverse } from '@holdfast/platform';
import type { ProcessNodesDeps } from './index.ts';

/** Grace period of all pods when the cluster stops: a test does not wait for programs that ignore the stop signal. */
const SHUTDOWN_GRACE_MS = 1_000;

/** For a developer's machine: its disk may be nearly full, and that must not evict pods. */
const EVICTION = readEvictionConfig({ ...DEFAULT_EVICTION_FLAGS, hard: 'memory.available<100Mi' });

/** The kubelets of a control plane whose pods are processes, with DNS for them. */
export class ProcessNodes {
  readonly #deps: ProcessNodesDeps;
  readonly #folder: string;
  readonly #names: ClusterNames;
  readonly #nodes: readonly Service[];

  /** The folder is theirs alone. */
  constructor(deps: ProcessNodesDeps, folder: string) {
    this.#deps = deps;
    this.#folder = folder;
    const { bus, clientOf } = deps.plane;
    this.#names = createClusterNames({ ...deps.machineOf('cluster names'), bus, client: clientOf(CLUSTER_DNS_USER) });
    this.#nodes = deps.config.processNodes.map((node, i) => this.#node(node, i));
  }

  async start(): Promise<void> {
    // A pod keeps the DNS settings of its start.
    await this.#names.start();
    await Promise.all(this.#nodes.map((node) => node.start()));
  }

  async stop(): Promise<void> {
    const all = { stop: () => stopTogether(this.#nodes) };
    await stopInReverse([this.#names, all]);
  }

  #node({ name, labels }: ProcessNodesDeps['config']['processNodes'][number], index: number): Service {
    const { machineOf, plane, config } = this.#deps;
    const machine = machineOf(`kubelet of ${name}`);
    const stateDirectory = path.join(this.#folder, String(index));
    mkdirSync(stateDirectory, { mode: 0o700 });
    const address = new NodeAddress({ ...machine, read: machineAddress });
    const runtime = createProcessRuntime({
      ...machine,
      stateDirectory,
      nodeAddress: () => address.current(),
      hidden: [this.#folder, ...(config.sqlite === undefined ? [] : [config.sqlite])],
      above: [this.#folder],
    });
    const sharedBy = config.processNodes.length;
    const kubelet = createKubelet({
      ...machine,
      ...this.#places(stateDirectory, index),
      bus: plane.bus,
      runtime,
      node: readMachineFacts({ name, stateDirectory, labels, sharedBy }),
      address,
      client: plane.clientOf(nodeUser(name)),
      network: createProbeNetwork(machine.clock),
    });
    plane.nodes.add(name, kubelet.api);
    return { name, start: () => kubelet.start(), stop: () => stopInReverse([endOf(runtime), kubelet]) };
  }

  /** What the node takes of the machine. */
  #places(stateDirectory: string, index: number) {
    const ids = userRangePool(index);
    return {
      machine: createMachineProbe(stateDirectory),
      directories: createNodeVolumeDirectories(path.join(stateDirectory, 'volumes')),
      eviction: EVICTION,
      userRanges: this.#deps.config.features.userNamespacesSupport ? ids : undefined,
      ownIds: ids,
      dns: this.#names.dns,
      api: this.#deps.api,
    } satisfies Partial<KubeletDeps>;
  }
}

const endOf = (runtime: ProcessRuntime): Pick<Service, 'stop'> => ({
  stop: () => runtime.shutdown(SHUTDOWN_GRACE_MS),
});

/** Each gets its end, also when another one fails. */
async function stopTogether(nodes: readonly Service[]): Promise<void> {
  const ended = await Promise.allSettled(nodes.map((node) => node.stop()));
  const failed = ended.find((each) => each.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}
