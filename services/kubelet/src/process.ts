import { mkdirSync } from 'node:fs';
import { connectComponent } from '@holdfast/client/component-config';
import { createIds, createSystemClock, createSystemRandom, type Log, type Service } from '@holdfast/platform';
import { readMachineFacts } from './adapters/machine-facts.ts';
import { createProbeNetwork } from './adapters/probe-network.ts';
import { createKubelet } from './app.ts';
import type { KubeletConfig } from './config.ts';
import { createProcessRuntime } from './runtime/process/index.ts';

/** One node in a process of its own. Its pods run on when it stops. */
export async function startProcess(config: KubeletConfig, log: Log): Promise<Service> {
  const clock = createSystemClock();
  const random = createSystemRandom();
  const { nodeName: name, nodeLabels: labels, stateDirectory, maxPods } = config;
  mkdirSync(stateDirectory, { recursive: true, mode: 0o700 });
  const node = readMachineFacts({ name, labels, stateDirectory, maxPods });
  const userAgent = `holdfast-kubelet/${name}`;
  const connection = await connectComponent(config.component, { clock, log, userAgent });
  const runtime = createProcessRuntime({ stateDirectory, clock, log, nodeAddress: node.address });
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
