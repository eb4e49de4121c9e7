import type { FlowSchema } from '@holdfast/api';
import type { StoredObject } from '@holdfast/store';
import { CachedObject } from './cache/cached-object.ts';
import { FlowMatcher } from './flow-control/matching.ts';

/** States that several API servers of one process have in their caches: each is parsed at most once for all of them. */
export interface SharedStates {
  readonly cachedOf: (stored: StoredObject) => CachedObject;
  /** What finds the schema of a request: the last one again, when the schemas are the same instances. */
  readonly matcherOf: (schemas: readonly FlowSchema[]) => FlowMatcher;
}

/** For stores that begin with the same instances. It keeps a state only as long as somebody keeps the instance. */
export function createSharedStates(): SharedStates {
  const known = new WeakMap<StoredObject, CachedObject>();
  let last: { readonly schemas: readonly FlowSchema[]; readonly matcher: FlowMatcher } | undefined;
  return {
    cachedOf: (stored) => {
      const shared = known.get(stored);
      if (shared !== undefined) return shared;
      const { key, value, revision } = stored;
      const made = new CachedObject(key, value, revision);
      known.set(stored, made);
      return made;
    },
    matcherOf: (schemas) => {
      if (last !== undefined && areSame(last.schemas, schemas)) return last.matcher;
      last = { schemas, matcher: new FlowMatcher(schemas) };
      return last.matcher;
    },
  };
}

const areSame = (a: readonly FlowSchema[], b: readonly FlowSchema[]): boolean =>
  a.length === b.length && a.every((each, i) => each === b[i]);
