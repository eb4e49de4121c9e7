export { type Capability, capabilityOf, type VolumeUseForm } from './capability.ts';
export { type CsiClients, CsiConnection } from './connection.ts';
export { CsiError, isFinal } from './csi-error.ts';
export * from './generated/csi_pb.js';
export { type PluginInfo, Registration } from './generated/registration_pb.js';
export { QUICK_DEADLINE_MS, WORK_DEADLINE_MS } from './limits.ts';
