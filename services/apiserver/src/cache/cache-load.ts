import type { Clock } from '@holdfast/platform';
import { type Change, type Revision, type Store, type StoredObject, StoreUnavailable } from '@holdfast/store';
import { CACHE_LOAD_PAGE_OBJECTS, FEED_BROKEN_ENDS_WATCHES_MS } from '../limits.ts';
import { CachedObject } from './cached-object.ts';
import { ResourceCaches } from './resource-caches.ts';
import type { FieldReader } from './watcher-index.ts';

export interface LoadDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly fieldsOf: (group: string, resource: string) => Readonly<Record<string, FieldReader>>;
  /** Default: a new one for each stored object. */
  readonly cachedOf?: ((stored: StoredObject) => CachedObject) | undefined;
}

export interface LoadedCaches {
  readonly caches: ResourceCaches;
  /** The caches are the state of the store at exactly this revision. */
  readonly revision: Revision;
  /** The change of that revision, if one came during the load. */
  readonly lastChange: Change | undefined;
}

/**
 * Reads the whole store. Its pages are of different moments: one may show a change that the page before it misses. So
 * the changes since the beginning follow, until all of them are in. A history that began before would lack those whose
 * result a page has shown already.
 */
export async function loadCaches(deps: LoadDeps): Promise<LoadedCaches> {
  const { store } = deps;
  const from = await store.currentRevision();
  const caches = new ResourceCaches(from, deps.fieldsOf);
  await loadPages(deps, caches);
  const to = await store.currentRevision();
  const lastChange = to > from ? await catchUp(deps, caches, { from, to }) : undefined;
  const revision = lastChange?.revision ?? from;
  caches.beginAt(revision);
  return { caches, revision, lastChange };
}

async function loadPages({ store, cachedOf = newlyCached }: LoadDeps, caches: ResourceCaches): Promise<void> {
  let after: string | undefined;
  for (;;) {
    const page = await store.list('', {
      limit: CACHE_LOAD_PAGE_OBJECTS,
      ...(after === undefined ? {} : { after }),
    });
    for (const stored of page.objects) caches.ofKey(stored.key).load(cachedOf(stored));
    after = page.objects.at(-1)?.key;
    if (!page.more || after === undefined) return;
  }
}

const newlyCached = ({ key, value, revision }: StoredObject): CachedObject => new CachedObject(key, value, revision);

interface Stretch {
  readonly from: Revision;
  readonly to: Revision;
}

/** Resolves with the last change that it took. */
async function catchUp({ store, clock }: LoadDeps, caches: ResourceCaches, { from, to }: Stretch): Promise<Change> {
  const ending = new AbortController();
  const deadline = clock.timer(FEED_BROKEN_ENDS_WATCHES_MS, () => ending.abort());
  try {
    for await (const changes of store.changes({ after: from, signal: ending.signal })) {
      for (const change of changes) caches.ofKey(change.key).apply(change);
      const last = changes.at(-1);
      if (last !== undefined && last.revision >= to) return last;
    }
  } finally {
    deadline.cancel();
    ending.abort();
  }
  throw new StoreUnavailable(`the store does not tell its changes after revision ${from}`);
}
