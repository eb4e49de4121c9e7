import type { StoredObject } from '@holdfast/store';
import { CachedObject } from './cached-object.ts';

/** States that several API servers of one process have in their caches: each is parsed at most once for all of them. */
export interface SharedStates {
  readonly cachedOf: (stored: StoredObject) => CachedObject;
}

/** For stores that begin with the same instances. It keeps a state only as long as somebody keeps the instance. */
export function createSharedStates(): SharedStates {
  const known = new WeakMap<StoredObject, CachedObject>();
  return {
    cachedOf: (stored) => {
      const shared = known.get(stored);
      if (shared !== undefined) return shared;
      const { key, value, revision } = stored;
      const made = new CachedObject(key, value, revision);
      known.set(stored, made);
      return made;
    },
  };
}
