import path from 'node:path';
import type { Clock, Ids, Log } from '@holdfast/platform';
import { storeLimits } from '@holdfast/platform/store-limit';
import type { Store } from '@holdfast/store';
import type { StartConfig } from '../config.ts';

export interface StoreDeps {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  /** The directory of a store on disk. */
  readonly directory: string;
}

/** Loads only the used backend. Resolves when the store begins to open. */
export async function beginStore(config: StartConfig, deps: StoreDeps): Promise<{ readonly opening: Promise<Store> }> {
  const limits = storeLimits(config.storeLimitMb);
  switch (config.store.kind) {
    case 'memory': {
      const { createMemoryStore } = await import('@holdfast/store/memory');
      return { opening: Promise.resolve(createMemoryStore({ ids: deps.ids, limits })) };
    }
    case 'sqlite': {
      const { createSqliteStore } = await import('@holdfast/store/sqlite');
      return { opening: createSqliteStore({ ...deps, limits, directory: path.join(deps.directory, 'store') }) };
    }
    case 'redis': {
      const { createRedisStore } = await import('@holdfast/store/redis');
      const { url, tls } = config.store;
      const allowUnsafe = config.allowUnsafeStore;
      return {
        opening: createRedisStore({ ...deps, limits, url, ...(tls === undefined ? {} : { tls }), allowUnsafe }),
      };
    }
  }
}
