import { helper } from '../runtime/helpers.ts';
import { run } from './agent/run.ts';

export { MACHINE_ADDRESS, MACHINE_LINK } from './agent/plan.ts';
export type { Relay } from './agent/protocol.ts';
export { wayOutProtocols, wayOutRefusal } from './agent/transparency.ts';
export { forwardingRefusal, readRouteTable } from './forwarding.ts';
export { canFilter, networkRefusal } from './launch.ts';
export { addMachineAddress, removeMachineAddress } from './machine-addresses.ts';
export { machineLinkName, machineLinkRefusal, NODE_ROUTES_PROTOCOL } from './machine-routes.ts';
export {
  areBridgesFiltered,
  holdMachineRules,
  type MachineRulesHold,
  machineRulesRefusal,
} from './machine-rules.ts';
export { createNodeNetwork, nodeCidr, type PolicyGate } from './node-network.ts';
export type { OutsideTarget } from './outside.ts';
export { createPodNetwork, OTHER_NETWORKS, type PodNetwork } from './pod-network.ts';

/** Runs a program of the machine to its end; resolves with its output. */
export const runProgram = (name: string, args: readonly string[], input = ''): Promise<string> =>
  run([helper(name), ...args], input);
