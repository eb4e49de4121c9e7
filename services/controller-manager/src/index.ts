export { type ControllerManagerDeps, type ControllerManagerSettings, createControllerManager } from './app.ts';
export { type ClusterNetwork, readClusterNetwork } from './controllers/node-ipam/cluster-network.ts';
export { createGracefulEviction, type PodEviction } from './controllers/node-lifecycle/pod-eviction.ts';
export type { LoadBalancer, LoadBalancers } from './controllers/service-load-balancer/load-balancers.ts';
export { type ControllerDriver, DriverError } from './csi/port.ts';
