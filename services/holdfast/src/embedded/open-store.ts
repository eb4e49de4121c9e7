import path from 'node:path';
import type { Clock, Ids, Log } from '@holdfast/platform';
import type { Store } from '@holdfast/store';
import type { StartConfig } from '../config.ts';

export interface StoreDeps {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  /** Where a store on disk keeps its file. */
  readonly directory: string;
}

/** Backends are loaded on demand: a start pays only for the one it uses. */
export async function openStore(config: StartConfig, deps: StoreDeps): Promise<Store> {
  switch (config.store.kind) {
    case 'memory': {
      const { createMemoryStore } = await import('@holdfast/store/memory');
      return createMemoryStore();
    }
    case 'sqlite': {
      const { createSqliteStore } = await import('@holdfast/store/sqlite');
      return createSqliteStore({ ...deps, directory: path.join(deps.directory, 'store') });
    }
    case 'redis': {
      const { createRedisStore } = await import('@holdfast/store/redis');
      const { url, tls } = config.store;
      const allowUnsafe = config.allowUnsafeStore;
      return createRedisStore({ ...deps, url, ...(tls === undefined ? {} : { tls }), allowUnsafe });
    }
  }
}
