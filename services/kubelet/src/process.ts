import { mkdirSync } from 'node:fs';
import { connectComponent } from '@holdfast/client/component-config';
import {
  type Clock,
  createIds,
  createSystemClock,
  createSystemRandom,
  type Log,
  type Service,
} from '@holdfast/platform';
import { readMachineFacts } from './adapters/machine-facts.ts';
import { createProbeNetwork } from './adapters/probe-network.ts';
import { createKubelet } from './app.ts';
import type { KubeletConfig } from './config.ts';
import type { NodeFacts } from './domain/node-status.ts';
import type { ContainerRuntime } from './runtime/port.ts';

/** One node in a process of its own. Its pods run on when it stops. */
export async function startProcess(config: KubeletConfig, log: Log): Promise<Service> {
  const clock = createSystemClock();
  const random = createSystemRandom();
  const { nodeName: name, nodeLabels: labels, stateDirectory, maxPods } = config;
  mkdirSync(stateDirectory, { recursive: true, mode: 0o700 });
  const machine = readMachineFacts({ name, labels, stateDirectory, maxPods });
  const userAgent = `holdfast-kubelet/${name}`;
  const connection = await connectComponent(config.component, { clock, log, userAgent });
  const { runtime, runtimeName } = await openRuntime(config, machine, { clock, log });
  const node = { ...machine, runtimeName };
  const { client, bus } = connection;
  const network = createProbeNetwork();
  const ids = createIds(random);
  const kubelet = createKubelet({ client, bus, runtime, network, node, clock, random, ids, log });
  await kubelet.start();
  return {
    ...kubelet,
    stop: async () => {
      await kubelet.stop();
      await runtime.close();
      await connection.close();
    },
  };
}

/** Only the one that is used is loaded. */
async function openRuntime(
  { stateDirectory, runtimeEndpoint: endpoint }: KubeletConfig,
  { name: nodeName, address: nodeAddress, runtimeName }: NodeFacts,
  machine: { readonly clock: Clock; readonly log: Log },
): Promise<{ readonly runtime: ContainerRuntime; readonly runtimeName: string }> {
  if (endpoint === undefined) {
    const { createProcessRuntime } = await import('./runtime/process/index.ts');
    return { runtime: createProcessRuntime({ ...machine, stateDirectory, nodeAddress }), runtimeName };
  }
  const { openCriRuntime } = await import('./runtime/cri/index.ts');
  return openCriRuntime({ ...machine, endpoint, stateDirectory, nodeName, nodeAddress });
}
