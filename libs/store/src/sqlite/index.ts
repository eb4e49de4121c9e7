export { adoptSqliteStore } from './adopt.ts';
export { createSqliteStore, type SqliteStoreOptions } from './sqlite-store.ts';
