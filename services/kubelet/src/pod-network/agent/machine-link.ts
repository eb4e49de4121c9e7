import { helper } from '../../runtime/helpers.ts';
import { agentSideCommands, type ClusterPart, MACHINE_LINK, machineRules, machineSideCommands } from './plan.ts';
import { run } from './run.ts';

export interface MachineLink {
  /** The name of the machine's end. */
  readonly name: string;
  /** The machine's network namespace, as a file. */
  readonly namespace: string;
  /** What the machine reaches over the link. */
  readonly networks: readonly string[];
  /** Absent: all pods of the cluster are here. */
  readonly part?: ClusterPart;
}

/**
 * Leads programs of the machine to pods and services at their addresses. The kernel removes the link and its routes with
 * the agent's namespace, however the agent ends. Replaces the link of an earlier control plane.
 */
export async function linkMachine({ name, namespace, networks, part }: MachineLink): Promise<void> {
  await unlinkMachine();
  await run([helper('nft'), '-f', '-'], machineRules(part));
  try {
    await run(ipBatch(), agentSideCommands(name, namespace, part));
    const enter = [helper('nsenter'), `--net=${namespace}`, '--'];
    await run([...enter, ...ipBatch()], machineSideCommands(name, networks));
  } catch (error) {
    await unlinkMachine();
    throw error;
  }
}

/** At once: the kernel takes its time with a namespace that nobody needs. */
export async function unlinkMachine(): Promise<void> {
  await run([helper('ip'), 'link', 'delete', MACHINE_LINK]).catch(() => undefined);
}

const ipBatch = (): readonly string[] => [helper('ip'), '-batch', '-'];
