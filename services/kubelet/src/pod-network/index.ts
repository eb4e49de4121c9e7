export type { Relay } from './agent/protocol.ts';
export { canFilter, networkRefusal } from './launch.ts';
export { createNodeNetwork } from './node-network.ts';
export type { OutsideTarget } from './outside.ts';
export { createPodNetwork, type PodNetwork } from './pod-network.ts';
