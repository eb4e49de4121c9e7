export { MACHINE_LINK } from './agent/plan.ts';
export type { Relay } from './agent/protocol.ts';
export { wayOutProtocols, wayOutRefusal } from './agent/transparency.ts';
export { canFilter, networkRefusal } from './launch.ts';
export { machineLinkName, machineLinkRefusal } from './machine-routes.ts';
export {
  areBridgesFiltered,
  holdMachineRules,
  type MachineRulesHold,
  machineRulesRefusal,
} from './machine-rules.ts';
export { createNodeNetwork, type PolicyGate } from './node-network.ts';
export type { OutsideTarget } from './outside.ts';
export { createPodNetwork, OTHER_NETWORKS, type PodNetwork } from './pod-network.ts';
