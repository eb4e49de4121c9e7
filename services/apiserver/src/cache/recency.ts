import type { Clock } from '@holdfast/platform';
import type { Store } from '@holdfast/store';
import type { WatchCache } from './watch-cache.ts';

/** The cache follows within milliseconds; a decision that waits for longer asks the store instead. */
const FOLLOWS_WITHIN_MS = 100;

export interface Recency {
  /**
   * Whether the cache holds everything that was acknowledged `withinMs` ago. A promise only when the store has to be
   * asked, which one caller does for all. It rejects when the store does not answer.
   */
  readonly isWithin: (withinMs: number) => true | Promise<boolean>;
}

export function createRecency(deps: {
  readonly store: Pick<Store, 'currentRevision'>;
  readonly cache: Pick<WatchCache, 'revision' | 'waitFor'>;
  readonly clock: Clock;
}): Recency {
  const { store, cache, clock } = deps;
  let completeAsOf = Number.NEGATIVE_INFINITY;
  let asking: Promise<boolean> | undefined;
  const ask = async (): Promise<boolean> => {
    const askedAt = clock.monotonic();
    const isComplete = await cache.waitFor(await store.currentRevision(), FOLLOWS_WITHIN_MS);
    if (isComplete) completeAsOf = askedAt;
    return isComplete;
  };
  const over = (): void => {
    asking = undefined;
  };
  return {
    isWithin: (withinMs) => {
      if (clock.monotonic() - completeAsOf <= withinMs) return true;
      if (asking === undefined) {
        asking = ask();
        asking.then(over, over);
      }
      return asking;
    },
  };
}
