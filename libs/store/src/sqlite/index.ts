export { adoptSqliteStore } from './adopt.ts';
export { restoreSqliteStore } from './restore.ts';
export { createSqliteStore, type SqliteStoreOptions } from './sqlite-store.ts';
