import path from 'node:path';
import type { Clock, Ids, Log } from '@holdfast/platform';
import { storeLimits } from '@holdfast/platform/store-limit';
import { ADOPTION_JUMP, type Store, type StoreContent } from '@holdfast/store';
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
  const first = config.from === undefined ? undefined : await firstContent(config, config.from, deps);
  switch (config.store.kind) {
    case 'memory': {
      const { createMemoryStore } = await import('@holdfast/store/memory');
      return {
        opening: Promise.resolve(
          createMemoryStore({ ids: deps.ids, limits, ...(first === undefined ? {} : { adopted: first }) }),
        ),
      };
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

/** Fills an empty store on disk or in Redis. Resolves with what a store in memory begins with. */
async function firstContent({ store }: StartConfig, from: string, deps: StoreDeps): Promise<StoreContent | undefined> {
  const { readContent, restoreInto } = await import('../backup/begin-with.ts');
  const content = await readContent(from);
  if (store.kind === 'memory') return { ...content, revision: content.revision + ADOPTION_JUMP };
  const directory = path.join(deps.directory, 'store');
  await restoreInto(store.kind === 'sqlite' ? { kind: 'sqlite', directory } : store, content, deps);
  return undefined;
}
