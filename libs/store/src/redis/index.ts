export { type AdoptRedisOptions, adoptRedisStore } from './adopt.ts';
export { createRedisStore, type RedisStoreOptions } from './redis-store.ts';
export { restoreRedisStore } from './restore.ts';
