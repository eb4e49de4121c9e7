import path from 'node:path';
import { type Clock, type Ids, type Log, OperatorError } from '@holdfast/platform';
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

export interface BegunStore {
  readonly opening: Promise<Store>;
  /** With what a new store begins, for people. */
  readonly began?: Beginning;
}

/** Loads only the used backend. Resolves when the store begins to open. */
export async function beginStore(config: StartConfig, deps: StoreDeps): Promise<BegunStore> {
  if (config.from === undefined) return openStore(config, deps, undefined);
  const { first, began } = await firstContent(config, config.from, deps);
  return { ...(await openStore(config, deps, first)), began };
}

async function openStore(
  config: StartConfig,
  deps: StoreDeps,
  first: StoreContent | undefined,
): Promise<Pick<BegunStore, 'opening'>> {
  const limits = storeLimits(config.storeLimitMb);
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

interface Beginning {
  /** `118 objects of cluster.backup, taken 3h ago`. */
  readonly text: string;
  readonly cautions: readonly string[];
}

/** Fills an empty store on disk or in Redis; `first` is what a store in memory begins with. */
async function firstContent(
  { store }: StartConfig,
  from: string,
  deps: StoreDeps,
): Promise<{ readonly first: StoreContent | undefined; readonly began: Beginning }> {
  const { readContent, restoreInto } = await import('../backup/begin-with.ts');
  const { ageOf } = await import('../backup/age.ts');
  const nowMs = deps.clock.now();
  const { content, takenAt } = await readContent(from, nowMs);
  const age = takenAt === undefined ? undefined : ageOf(takenAt, nowMs);
  const began = {
    text: `${content.objects.length} objects of ${from}${age === undefined ? '' : `, ${age.text}`}`,
    cautions: age?.caution === undefined ? [] : [age.caution],
  };
  if (store.kind === 'memory') {
    return { first: { ...content, revision: content.revision + ADOPTION_JUMP }, began };
  }
  const directory = path.join(deps.directory, 'store');
  const target = store.kind === 'sqlite' ? ({ kind: 'sqlite', directory } as const) : store;
  await restoreInto(target, content, deps).catch((error: unknown) => {
    throw isNotEmpty(error) ? begunAlready(error) : error;
  });
  return { first: undefined, began };
}

const isNotEmpty = (error: unknown): error is OperatorError =>
  error instanceof OperatorError && error.code === 'STORE_NOT_EMPTY';

/** The advice of the store is for a restore: who starts a cluster twice must not move its data away. */
const begunAlready = (cause: OperatorError): OperatorError =>
  new OperatorError({
    code: 'ClusterBegun',
    message: 'this cluster has begun already, and its store stays as it is',
    nextStep: 'Start it without --from.',
    cause,
  });
