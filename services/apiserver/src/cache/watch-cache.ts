import type { KubeObject } from '@holdfast/api';
import { type Clock, describeError, InFlight, type Log } from '@holdfast/platform';
import { type Change, Compacted, resourcePrefix, type Store, type StoredObject, StoreHalted } from '@holdfast/store';
import { CACHE_AHEAD_OBJECTS_MAX, FEED_BROKEN_ENDS_WATCHES_MS, FEED_RETRY_MS } from '../limits.ts';
import { loadCaches } from './cache-load.ts';
import { CachedObject } from './cached-object.ts';
import { bytesBudget, type Keeper, parsedBudget } from './parsed-budget.ts';
import type { ResourceCache } from './resource-cache.ts';
import { prefixOf, ResourceCaches } from './resource-caches.ts';
import { RevisionWaiters } from './revision-waiters.ts';
import type { FieldReader } from './watcher-index.ts';

export interface WatchCacheDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  /** Indexed fields of a resource, for watches that ask for one value of them. */
  readonly fieldsOf: (group: string, resource: string) => Readonly<Record<string, FieldReader>>;
  readonly feeds?: readonly ObjectFeed[];
  readonly cachedOf?: ((stored: StoredObject) => CachedObject) | undefined;
  readonly recorder?: ChangeRecorder | undefined;
}

/** Keeps what the cache forgets. */
export interface ChangeRecorder {
  /** Everything is loaded up to this revision; every later change follows. */
  resume(loadedAt: number): Promise<void>;
  /** `before` is the text that the change replaced; `undefined` where the cache does not know it. */
  record(change: Change, before: string | undefined): void;
}

/** Gets every change of one resource before any caller that waits for the revision continues. */
export interface ObjectFeed {
  readonly group: string;
  readonly resource: string;
  /** Everything is loaded again from here on. */
  reset(): void;
  put(object: CachedObject): void;
  remove(object: CachedObject): void;
}

export interface WrittenState {
  readonly key: string;
  readonly value: string;
  readonly revision: number;
  /** The value behind `value`; the writer gives up its ownership. */
  readonly written?: KubeObject | undefined;
}

/** The apiserver's copy of the store: loaded once, then kept by one feed of committed changes for all resources. */
export class WatchCache {
  readonly #deps: WatchCacheDeps;
  /** By the prefix of their keys. */
  readonly #feeds: ReadonlyMap<string, ObjectFeed>;
  #caches: ResourceCaches;
  readonly #waiters: RevisionWaiters;
  /** States that this server has written and the feed has not brought yet, by revision. */
  readonly #ahead = new InFlight<CachedObject>();
  readonly #values: Keeper = {
    shrinkTo: (most) =>
      shrunk(this.#objects(), most, { kept: (each) => each.valueBytes, forget: (each) => each.forgetValue() }),
  };
  readonly #bytes: Keeper = {
    shrinkTo: (most) =>
      shrunk(this.#objects(), most, { kept: (each) => each.keptBytes, forget: (each) => each.forgetBytes() }),
  };
  #revision = 0;
  #loadedAt = 0;
  #isLoaded = false;
  /** The write id of `#revision`, if the history contains it. */
  #lastWriteId: string | undefined;
  #brokenSince: number | undefined;
  #abort: AbortController | undefined;
  #following: Promise<void> = Promise.resolve();

  constructor(deps: WatchCacheDeps) {
    this.#deps = deps;
    this.#caches = new ResourceCaches(0, deps.fieldsOf);
    this.#feeds = new Map((deps.feeds ?? []).map((feed) => [resourcePrefix(feed.group, feed.resource), feed]));
    this.#waiters = new RevisionWaiters(deps.clock);
  }

  /** Newest revision that is applied. */
  get revision(): number {
    return this.#revision;
  }

  /** False while it is empty because the start has not read the store yet. */
  get isLoaded(): boolean {
    return this.#isLoaded;
  }

  /** Changes up to here were loaded; every later change was followed. */
  get completeSince(): number {
    return this.#loadedAt;
  }

  /** Only for the newest revision; `undefined` for others. */
  writeIdAt(revision: number): string | undefined {
    return revision === this.#revision ? this.#lastWriteId : undefined;
  }

  /** Rejects when the store fails; then nothing has begun, and it may be called again. */
  async start(): Promise<void> {
    parsedBudget.join(this.#values);
    bytesBudget.join(this.#bytes);
    await this.#load();
    const current = await this.#deps.store.currentRevision();
    this.#abort = new AbortController();
    this.#following = this.#follow(this.#abort.signal);
    await this.waitFor(current, FEED_BROKEN_ENDS_WATCHES_MS);
  }

  async stop(): Promise<void> {
    this.#abort?.abort();
    this.#endWatches();
    parsedBudget.leave(this.#values);
    bytesBudget.leave(this.#bytes);
    await this.#following;
  }

  resource(group: string, resource: string): ResourceCache {
    return this.#caches.resource(group, resource);
  }

  /** The same for an untrusted name: `undefined` when nothing was ever requested or stored. */
  known(group: string, resource: string): ResourceCache | undefined {
    return this.#caches.known(group, resource);
  }

  byKey(key: string): CachedObject | undefined {
    return this.#caches.ofKey(key).get(key);
  }

  /**
   * Creates the state of this server's own write. The cache uses the same instance, so that its bytes are made once.
   */
  stateAfter({ key, value, revision, written }: WrittenState): CachedObject {
    const known = this.byKey(key);
    if (known?.revision === revision) return known;
    const object = new CachedObject(key, value, revision, written);
    if (revision > this.#revision && this.#ahead.size < CACHE_AHEAD_OBJECTS_MAX) this.#ahead.set(revision, object);
    return object;
  }

  /** The state of exactly this revision, if it is at hand. */
  stateAt(key: string, revision: number): CachedObject | undefined {
    const current = this.byKey(key);
    if (current?.revision === revision) return current;
    const ahead = this.#ahead.get(revision);
    return ahead?.key === key ? ahead : undefined;
  }

  resources(): readonly ResourceCache[] {
    return this.#caches.all();
  }

  *#objects(): Generator<CachedObject> {
    for (const cache of this.#caches.all()) yield* cache.values();
  }

  /** False when the cache did not get that far in time. */
  waitFor(revision: number, timeoutMs: number): Promise<boolean> {
    if (this.#revision >= revision) return Promise.resolve(true);
    return this.#waiters.wait(revision, timeoutMs);
  }

  /** Empty when the feed runs. */
  health(): readonly string[] {
    if (this.#brokenSince === undefined) return [];
    const forMs = this.#deps.clock.monotonic() - this.#brokenSince;
    return forMs < FEED_BROKEN_ENDS_WATCHES_MS ? [] : [`the change feed is broken for ${Math.round(forMs / 1000)} s`];
  }

  /** False while changes may be missing: then a bookmark would promise too much. */
  get current(): boolean {
    return this.#brokenSince === undefined;
  }

  /** Readers see the old state until the new one is whole. */
  async #load(): Promise<void> {
    this.#endWatches();
    const { caches, revision, lastChange } = await loadCaches(this.#deps);
    const writeId = lastChange === undefined ? await this.#readWriteId(revision) : lastChange.writeId;
    await this.#deps.recorder?.resume(revision);
    this.#endWatches();
    this.#caches = caches;
    this.#ahead.clear();
    this.#lastWriteId = writeId;
    this.#loadedAt = revision;
    this.#isLoaded = true;
    this.#loadFeeds();
    this.#advance(revision);
  }

  async #readWriteId(revision: number): Promise<string | undefined> {
    try {
      return revision === 0 ? undefined : await this.#deps.store.writeIdAt(revision);
    } catch (error) {
      if (error instanceof Compacted) return undefined;
      throw error;
    }
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const { store, clock, log } = this.#deps;
    while (!signal.aborted) {
      try {
        // Beside the feed: a store that takes the question and does not answer keeps nothing back.
        this.#noticeSilence().catch(() => undefined);
        for await (const changes of store.changes({ after: this.#revision, signal })) {
          this.#brokenSince = undefined;
          this.#apply(changes);
        }
      } catch (error) {
        if (signal.aborted) return;
        this.#brokenSince ??= clock.monotonic();
        log.warn('the change feed broke', { error: describeError(error), revision: this.#revision });
        await this.#recover(error);
      }
      if (!signal.aborted) await clock.sleep(FEED_RETRY_MS);
    }
  }

  /**
   * Nothing was written while the feed was broken: then no change comes that would show that it is whole again, and clients behind
   * a balancer that asks for readiness could never write one.
   */
  async #noticeSilence(): Promise<void> {
    if (this.#brokenSince === undefined) return;
    if ((await this.#deps.store.currentRevision()) <= this.#revision) this.#brokenSince = undefined;
  }

  async #recover(error: unknown): Promise<void> {
    if (error instanceof Compacted) {
      try {
        await this.#load();
      } catch (loadError) {
        this.#deps.log.warn('the cache could not be loaded again', { error: describeError(loadError) });
      }
    } else if (error instanceof StoreHalted || this.health().length > 0) this.#endWatches();
  }

  #loadFeeds(): void {
    for (const feed of this.#feeds.values()) {
      feed.reset();
      for (const object of this.resource(feed.group, feed.resource).all(undefined)) feed.put(object);
    }
  }

  /** Kinds and the places of APIs are those of the change when its watchers learn of it. */
  #feed({ key, kind, value, revision }: Change): void {
    const feed = this.#feeds.get(prefixOf(key));
    if (feed === undefined) return;
    const object = new CachedObject(key, value, revision);
    if (kind === 'deleted') feed.remove(object);
    else feed.put(object);
  }

  /**
   * Takes an object whose change could not be read when the feed brought it. A newer object than the cache is left to
   * the feed.
   */
  restore({ key, value, revision }: StoredObject): void {
    const reached = Math.max(this.#revision, this.#loadedAt);
    if (revision > reached) return;
    const object = new CachedObject(key, value, revision);
    this.#feeds.get(prefixOf(key))?.put(object);
    this.#caches.ofKey(key).restore(object, reached);
  }

  /** Ends the watches of a resource whose objects are read in another way from now on. */
  endWatchesOf(group: string, resource: string): void {
    this.known(group, resource)?.renew();
  }

  #apply(changes: readonly Change[]): void {
    const { recorder } = this.#deps;
    for (const change of changes) {
      this.#feed(change);
      const cache = this.#caches.ofKey(change.key);
      if (recorder !== undefined) recorder.record(change, stateBefore(change, cache));
      cache.apply(change, this.#ahead.get(change.revision));
      this.#revision = change.revision;
      this.#lastWriteId = change.writeId;
      this.#ahead.delete(change.revision);
    }
    this.#waiters.reached(this.#revision);
  }

  #advance(revision: number): void {
    this.#revision = revision;
    this.#waiters.reached(revision);
  }

  #endWatches(): void {
    for (const cache of this.#caches.all()) {
      for (const watcher of cache.watchers.all()) watcher.end();
    }
  }
}

interface Kept {
  readonly kept: (object: CachedObject) => number;
  readonly forget: (object: CachedObject) => void;
}

function shrunk(objects: Iterable<CachedObject>, most: number, { kept, forget }: Kept): number {
  let all = 0;
  for (const object of objects) {
    const bytes = kept(object);
    if (all + bytes > most) forget(object);
    else all += bytes;
  }
  return all;
}

/** A change that was part of the load finds its own state, or a newer one. */
function stateBefore({ key, previousRevision, previousValue }: Change, cache: ResourceCache): string | undefined {
  const known = cache.get(key);
  return known?.revision === previousRevision ? known.stored : previousValue;
}
