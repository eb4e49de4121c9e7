import { mkdirSync } from 'node:fs';
import {
  createKubelet,
  createProbeNetwork,
  HOLLOW_PROBE_NETWORK,
  hollowNodeFacts,
  readMachineFacts,
} from '@holdfast/kubelet';
import { createHollowRuntime } from '@holdfast/kubelet/hollow-runtime';
import { createProcessRuntime } from '@holdfast/kubelet/process-runtime';
import type { Service } from '@holdfast/platform';
import { nodeUser } from '../pki/credentials.ts';
import type { ComponentsDeps } from './components.ts';

/** How long the processes of all pods get to end when the cluster is stopped. */
const SHUTDOWN_GRACE_MS = 5_000;

/** A node whose pods are processes of this machine. Stopping it ends them: an embedded cluster leaves nothing behind. */
export function createProcessNode(deps: ComponentsDeps, name: string): Service {
  const { machine, bus, front, directory } = deps;
  const stateDirectory = directory.nodeFolder(name);
  mkdirSync(stateDirectory, { recursive: true });
  const node = readMachineFacts({ name, stateDirectory });
  const runtime = createProcessRuntime({ ...machine, stateDirectory, nodeAddress: node.address });
  const kubelet = createKubelet({
    ...machine,
    bus,
    runtime,
    node,
    client: front.clientOf(nodeUser(name)),
    network: createProbeNetwork(),
  });
  front.nodes.add(name, kubelet.api);
  return {
    name: kubelet.name,
    start: () => kubelet.start(),
    stop: async () => {
      await kubelet.stop();
      await runtime.shutdown(SHUTDOWN_GRACE_MS);
      await runtime.close();
    },
  };
}

/** Nodes that only pretend to run pods. */
export function createHollowNodes(deps: ComponentsDeps, names: readonly string[]): readonly Service[] {
  const { machine, bus, front } = deps;
  return names.map((name, index) => {
    const kubelet = createKubelet({
      ...machine,
      bus,
      runtime: createHollowRuntime({ ...machine, nodeName: name }),
      node: hollowNodeFacts({ name, address: hollowAddress(index) }),
      client: front.clientOf(nodeUser(name)),
      network: HOLLOW_PROBE_NETWORK,
    });
    front.nodes.add(name, kubelet.api);
    return kubelet;
  });
}

/** In 198.18.0.0/15, which is set aside for benchmarks and never routed. */
function hollowAddress(index: number): string {
  return `198.18.${Math.floor(index / 250)}.${(index % 250) + 1}`;
}
