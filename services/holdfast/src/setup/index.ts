export { readSetupConfig, type SetupConfig } from './config.ts';
export { prepareState } from './prepare-state.ts';
export { redisConfig } from './redis-config.ts';
