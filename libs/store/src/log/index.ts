export { createLogStore, type LogStoreOptions } from './log-store.ts';
