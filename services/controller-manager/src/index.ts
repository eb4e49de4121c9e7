export { type ControllerManagerDeps, type ControllerManagerSettings, createControllerManager } from './app.ts';
export { createGracefulEviction, type PodEviction } from './controllers/node-lifecycle/pod-eviction.ts';
