export { type AdoptLogOptions, adoptLogStore } from './adopt.ts';
export { createLogStore, type LogStoreOptions } from './log-store.ts';
export { restoreLogStore } from './restore.ts';
