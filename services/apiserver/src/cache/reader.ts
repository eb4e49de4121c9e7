import type { KubeObject, ResourceRef } from '@holdfast/api';
import { unavailable } from '@holdfast/machinery';
import type { Clock } from '@holdfast/platform';
import { namespacePrefix, objectKey, resourcePrefix, type Store } from '@holdfast/store';
import { CONSISTENT_READ_TIMEOUT_MS } from '../limits.ts';
import { CachedObject } from './cached-object.ts';
import { createRecency, type Recency } from './recency.ts';
import type { WatchCache } from './watch-cache.ts';

/** Reads for the apiserver's own decisions: admission, authentication, authorization. */
export interface ObjectReader {
  /** From the cache: at least as new as the last consistent read, possibly slightly stale. */
  cached<T extends KubeObject>(resource: ResourceRef<T>, target: ReadTarget): T | undefined;
  /** Linearizable. */
  fresh<T extends KubeObject>(resource: ResourceRef<T>, target: ReadTarget): Promise<T | undefined>;
  /** All objects of a namespace (or of the cluster) from the cache. */
  list<T extends KubeObject>(resource: ResourceRef<T>, namespace?: string): readonly T[];
  /** Those of the cluster whose selectable field has this value, from the cache. Costs only what it returns. */
  listByField<T extends KubeObject>(resource: ResourceRef<T>, field: string, value: string): readonly T[];
  /** All objects of a namespace from the store. */
  listFresh<T extends KubeObject>(resource: ResourceRef<T>, namespace: string): Promise<readonly T[]>;
  /** How much older than the store the cache may be. */
  readonly recency: Recency;
}

export interface ReadTarget {
  readonly namespace?: string;
  readonly name: string;
}

export function createReader(deps: {
  readonly store: Store;
  readonly cache: WatchCache;
  readonly clock: Clock;
}): ObjectReader {
  const { cache, store } = deps;
  return {
    recency: createRecency(deps),
    listFresh: async (resource, namespace) => {
      const { objects } = await store.list(placeOf(resource, namespace));
      return objects.map(({ key, value, revision }) => asKnown(resource, new CachedObject(key, value, revision)));
    },
    cached: (resource, target) => {
      const key = keyFor(resource, target);
      refuseSealed(store.atRest?.unreadableAt(key));
      return decode(resource, cache.resource(resource.group, resource.plural).get(key));
    },
    fresh: async (resource, target) => decode(resource, await readLatest(deps, keyFor(resource, target))),
    list: (resource, namespace) => {
      if (store.atRest !== undefined) refuseSealed(store.atRest.unreadable(placeOf(resource, namespace)));
      const objects = cache.resource(resource.group, resource.plural).all(namespace);
      return objects.length === 0 ? NONE : objects.map((object) => asKnown(resource, object));
    },
    listByField: (resource, field, value) => {
      if (store.atRest !== undefined) refuseSealed(store.atRest.unreadable(placeOf(resource, undefined)));
      const exactField = { field, value };
      const selection = { namespace: undefined, exactName: undefined, exactField, matches: undefined };
      const listed = cache.resource(resource.group, resource.plural).list({ selection });
      return (listed?.objects ?? NONE).map((object) => asKnown(resource, object));
    },
  };
}

const keyFor = ({ group, plural, namespaced }: ResourceRef, { namespace = '', name }: ReadTarget): string =>
  objectKey({ group, resource: plural, namespace: namespaced ? namespace : '', name });

const placeOf = ({ group, plural }: ResourceRef, namespace: string | undefined): string =>
  namespace === undefined ? resourcePrefix(group, plural) : namespacePrefix(group, plural, namespace);

/** For an undecryptable object the cache has an older state: no decision may use it. */
function refuseSealed(problem: Error | undefined): void {
  if (problem !== undefined) throw problem;
}

const NONE: readonly never[] = [];

/** The newest state of one object, read from the store; shares the cache's instance when that is as new. */
export async function readLatest(
  deps: { readonly store: Pick<Store, 'get'>; readonly cache: Pick<WatchCache, 'byKey'> },
  key: string,
): Promise<CachedObject | undefined> {
  const { object } = await deps.store.get(key);
  if (object === undefined) return undefined;
  const cached = deps.cache.byKey(key);
  return cached?.revision === object.revision ? cached : new CachedObject(key, object.value, object.revision);
}

/** Resolves when the cache holds every write acknowledged before the call. */
export async function catchUp(deps: { readonly store: Store; readonly cache: WatchCache }): Promise<void> {
  const revision = await deps.store.currentRevision();
  if (deps.cache.revision >= revision) return;
  if (!(await deps.cache.waitFor(revision, CONSISTENT_READ_TIMEOUT_MS))) {
    throw unavailable('the cache has not caught up with the store; try again');
  }
}

const asKnown = <T extends KubeObject>(_resource: ResourceRef<T>, cached: CachedObject): T => cached.object as T;

function decode<T extends KubeObject>(_resource: ResourceRef<T>, cached: CachedObject | undefined): T | undefined {
  return cached?.object as T | undefined;
}
