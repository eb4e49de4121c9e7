export type { FenceAgent, FenceAnswer, FenceRequest, FenceScope, FenceState } from './agents/port.ts';
export { createFencer, type Fencer } from './app.ts';
export { decodeConfiguration, type FencerConfiguration } from './configuration/configuration.ts';
export { readConfigurationFile } from './configuration/read-file.ts';
export type { FencerDeps } from './fencer-deps.ts';
