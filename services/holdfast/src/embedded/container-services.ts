import type { MachineRulesHold } from '@holdfast/kubelet/pod-network';
import type { Service } from '@holdfast/platform';
import type { Proxy, RelayedServer } from '@holdfast/proxy';
import type { StartConfig } from '../config.ts';
import { SERVICE_NETWORK } from '../pod-network/cluster-addresses.ts';
import type { ComponentsDeps } from './components.ts';
import type { NodeRuntime } from './runtime-choice.ts';

/** The rules of services in the network of this machine, which containers reach each other through. */
export interface ContainerServices {
  readonly hold: MachineRulesHold;
  /** False: packets between two containers of a bridge pass no rules. */
  readonly areBridgesFiltered: boolean;
}

export interface ContainerServicesChoice {
  readonly services: ContainerServices | undefined;
  /** What does not work, and why. */
  readonly caution?: string;
}

export type MachineRules = Pick<
  typeof import('@holdfast/kubelet/pod-network'),
  'areBridgesFiltered' | 'holdMachineRules' | 'machineRulesRefusal'
>;

const NONE: ContainerServicesChoice = { services: undefined };

/** Whether this cluster routes the addresses of services for containers, as kube-proxy does. */
export async function chooseContainerServices(
  { nodes, without }: Pick<StartConfig, 'nodes' | 'without'>,
  { kind }: Pick<NodeRuntime, 'kind'>,
  load: () => Promise<MachineRules> = () => import('@holdfast/kubelet/pod-network'),
): Promise<ContainerServicesChoice> {
  if (kind === 'process' || nodes === 0 || without.has('proxy')) return NONE;
  const rules = await load();
  const refusal = await rules.machineRulesRefusal(SERVICE_NETWORK);
  if (refusal !== '') return { ...NONE, caution: notRouted(refusal) };
  const hold = await rules.holdMachineRules();
  if (hold === undefined) return { ...NONE, caution: notRouted('another cluster of this machine has its rules') };
  const areBridgesFiltered = rules.areBridgesFiltered();
  const services = { hold, areBridgesFiltered };
  return areBridgesFiltered ? { services } : { services, caution: NO_POLICIES };
}

const notRouted = (reason: string): string =>
  `Containers do not reach services at their addresses: ${reason}. --without=proxy starts without this warning.`;

const NO_POLICIES =
  'Network policies are not enforced between containers: net.bridge.bridge-nf-call-iptables is off on this machine. ' +
  'Load the module br_netfilter, then start again.';

/** A cluster that stops leaves no rules on the machine. The start does not wait for the first rules. */
export function createContainerServices(deps: ComponentsDeps, relayed: readonly RelayedServer[]): readonly Service[] {
  const { containerServices, machine } = deps;
  if (containerServices === undefined) return [];
  let rules: Promise<Proxy> | undefined;
  let isStopped = false;
  const begin = async (): Promise<Proxy> => {
    const { createContainerRules } = await import('./service-rules.ts');
    const made = createContainerRules(deps, containerServices, relayed);
    void made.start().catch((error: unknown) => {
      if (!isStopped) machine.log.error('the addresses of services are not routed', { error });
    });
    return made;
  };
  return [
    {
      name: 'addresses of services',
      start: async () => {
        rules = begin();
        await rules;
      },
      stop: async () => {
        isStopped = true;
        const made = await rules;
        await made?.stop();
        await made?.removeRules();
        containerServices.hold.release();
      },
    },
  ];
}
