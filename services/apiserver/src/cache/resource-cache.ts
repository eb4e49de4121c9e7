import type { Change, StoreKey } from '@holdfast/store';
import { EVENTS_KEPT_PER_RESOURCE } from '../limits.ts';
import { CacheEvent } from './cache-event.ts';
import { CachedObject } from './cached-object.ts';
import { EventHistory } from './event-history.ts';
import { FieldIndex } from './field-index.ts';
import { ObjectIndex } from './object-index.ts';
import { type Selection, selects } from './selection.ts';
import type { Watcher } from './watcher.ts';
import { type FieldReader, WatcherIndex } from './watcher-index.ts';

export interface ListQuery {
  readonly selection: Selection;
  /** Only keys after this one. */
  readonly after?: StoreKey;
  readonly limit?: number;
  /** List the state at this revision instead of the newest. */
  readonly atRevision?: number;
}

export interface ListResult {
  readonly objects: readonly CachedObject[];
  /** Key to continue after; absent when the list is complete. */
  readonly lastKey?: StoreKey;
  /** Objects behind the last one; only counted without label and field requirements. */
  readonly remaining?: number;
}

/** What differs from now at an earlier revision. */
type Overlay = ReadonlyMap<StoreKey, CachedObject | undefined>;

/** Neither a page, nor of the past, nor found faster by an index. */
const isWhole = ({ selection, after, limit, atRevision }: ListQuery): boolean =>
  after === undefined && limit === undefined && atRevision === undefined && selection.exactField === undefined;

/** Current objects, recent events and open watches of one resource. Everything here is synchronous. */
export class ResourceCache {
  readonly #objects = new ObjectIndex();
  #history: EventHistory;
  readonly watchers: WatcherIndex;
  /** Those of custom kinds change with their definition. */
  readonly #fields: () => Readonly<Record<string, FieldReader>>;
  /** Made when a list first asks for a value of the field: reading fields means parsing every object. */
  readonly #fieldIndexes = new Map<string, FieldIndex>();
  #version = 0;

  constructor(completeAfter: number, fields: () => Readonly<Record<string, FieldReader>>) {
    this.#history = new EventHistory(EVENTS_KEPT_PER_RESOURCE, completeAfter);
    this.watchers = new WatcherIndex(fields);
    this.#fields = fields;
  }

  /** The fields are others now, or are read in another way. */
  renew(): void {
    this.#fieldIndexes.clear();
    for (const watcher of this.watchers.all()) watcher.end();
  }

  /** Grows with every change: equal versions mean equal content. */
  get version(): number {
    return this.#version;
  }

  get size(): number {
    return this.#objects.size;
  }

  /** All current objects, in no order. */
  values(): IterableIterator<CachedObject> {
    return this.#objects.values();
  }

  get(key: StoreKey): CachedObject | undefined {
    return this.#objects.get(key);
  }

  /** Takes an object of the initial load. */
  load(object: CachedObject): void {
    this.#version++;
    this.#objects.set(object);
  }

  /** What was taken so far is the state at this revision: only later changes are told, and looked back upon. */
  beginAt(revision: number): void {
    this.#history = new EventHistory(EVENTS_KEPT_PER_RESOURCE, revision);
  }

  /**
   * Takes an object whose change was left out. Lists and watches of earlier revisions would miss it, so they have to
   * begin again.
   */
  restore(object: CachedObject, revision: number): void {
    const known = this.#objects.get(object.key);
    if (known !== undefined && known.revision >= object.revision) return;
    this.load(object);
    this.beginAt(revision);
    this.renew();
  }

  /** Index first, then history, then watchers: a consumer of the event can already read the new state. */
  apply(change: Change, known?: CachedObject): void {
    const previous = this.#objects.get(change.key);
    if (previous !== undefined && previous.revision >= change.revision) return;
    const current = known?.key === change.key ? known : new CachedObject(change.key, change.value, change.revision);
    if (change.kind === 'deleted') this.#objects.delete(current);
    else this.#objects.set(current);
    this.#version++;
    for (const index of this.#fieldIndexes.values()) {
      if (previous !== undefined) index.delete(previous);
      if (change.kind !== 'deleted') index.add(current);
    }
    const event = new CacheEvent(change.kind, current, previous);
    this.#history.push(event);
    for (const watcher of this.watchers.candidates(event)) offerTo(watcher, event);
  }

  /** Events after `revision`; `undefined` when they are no longer all known. */
  since(revision: number): readonly CacheEvent[] | undefined {
    return this.#history.since(revision);
  }

  addWatcher(watcher: Watcher): void {
    this.watchers.add(watcher);
  }

  /** Everything of one namespace, or of all when it is `undefined`. */
  all(namespace: string | undefined): readonly CachedObject[] {
    return this.#objects.all(namespace);
  }

  /** `undefined` when `atRevision` is older than the events kept. */
  list(query: ListQuery): ListResult | undefined {
    if (isWhole(query)) return { objects: this.#whole(query.selection) };
    const overlay = this.#overlay(query.atRevision);
    if (overlay === undefined) return undefined;
    const objects: CachedObject[] = [];
    for (const object of this.#candidates(query, overlay)) {
      if (!selects(query.selection, object)) continue;
      if (query.limit !== undefined && objects.length >= query.limit) return this.#cut(query, overlay, objects);
      objects.push(object);
    }
    return { objects };
  }

  /** A page with more behind it. */
  #cut(query: ListQuery, overlay: Overlay, objects: readonly CachedObject[]): ListResult {
    const lastKey = objects.at(-1)?.key ?? '';
    if (query.selection.matches !== undefined) return { objects, lastKey };
    return { objects, lastKey, remaining: this.#countAfter(query.selection, lastKey, overlay) };
  }

  /** Without a look at the objects: a page must not cost what the whole list does. */
  #countAfter(selection: Selection, lastKey: StoreKey, overlay: Overlay): number {
    const { namespace, exactName } = selection;
    if (exactName !== undefined) {
      const rest = this.#candidates({ selection, after: lastKey }, overlay);
      return [...rest].filter((object) => selects(selection, object)).length;
    }
    let count = this.#objects.countAfter(namespace, lastKey);
    for (const [key, old] of overlay) {
      const current = this.#objects.get(key);
      if (key <= lastKey || (old === undefined) === (current === undefined)) continue;
      if (namespace !== undefined && (old ?? current)?.namespace !== namespace) continue;
      count += old === undefined ? -1 : 1;
    }
    return count;
  }

  /** Returns the candidates of a list in order; none when its state is no longer available. */
  candidates(query: ListQuery): readonly CachedObject[] {
    if (isWhole(query)) return this.#objects.all(query.selection.namespace);
    const overlay = this.#overlay(query.atRevision);
    return overlay === undefined ? [] : [...this.#candidates(query, overlay)];
  }

  /** Everything of now that is selected. The list of a namespace is kept until something in it changes. */
  #whole(selection: Selection): readonly CachedObject[] {
    const all = this.#objects.all(selection.namespace);
    return selection.exactName === undefined && selection.matches === undefined
      ? all
      : all.filter((object) => selects(selection, object));
  }

  /** What differs between the wanted revision and now: the state before the first later change of each object. */
  #overlay(atRevision: number | undefined): Overlay | undefined {
    const overlay = new Map<StoreKey, CachedObject | undefined>();
    if (atRevision === undefined) return overlay;
    const later = this.#history.since(atRevision);
    if (later === undefined) return undefined;
    for (const event of later) {
      if (!overlay.has(event.current.key)) overlay.set(event.current.key, event.previous);
    }
    return overlay;
  }

  *#candidates(query: ListQuery, overlay: Overlay): Iterable<CachedObject> {
    const after = query.after;
    for (const key of this.#keys(query, overlay)) {
      if (after !== undefined && key <= after) continue;
      const object = overlay.size > 0 && overlay.has(key) ? overlay.get(key) : this.#objects.get(key);
      if (object !== undefined) yield object;
    }
  }

  #fieldIndex(field: string): FieldIndex | undefined {
    const read = this.#fields()[field];
    const known = this.#fieldIndexes.get(field);
    if (known !== undefined || read === undefined) return known;
    const index = new FieldIndex(read);
    for (const key of this.#objects.keys(undefined)) {
      const object = this.#objects.get(key);
      if (object !== undefined) index.add(object);
    }
    this.#fieldIndexes.set(field, index);
    return index;
  }

  #keys({ selection, after }: ListQuery, overlay: Overlay): Iterable<StoreKey> {
    if (overlay.size === 0 && selection.exactField !== undefined) {
      return this.#fieldIndex(selection.exactField.field)?.keys(selection.exactField.value) ?? [];
    }
    const live = this.#objects.keys(selection.namespace, after);
    const deletedSince = [...overlay].filter(([key, old]) => old !== undefined && this.#objects.get(key) === undefined);
    if (deletedSince.length === 0) return live;
    return inOrder(live, deletedSince.map(([key]) => key).sort());
  }
}

/** Two ascending sequences without a common key, as one. */
function* inOrder(keys: Iterable<StoreKey>, others: readonly StoreKey[]): Iterable<StoreKey> {
  let next = 0;
  for (const key of keys) {
    for (let other = others[next]; other !== undefined && other < key; other = others[++next]) yield other;
    yield key;
  }
  yield* others.slice(next);
}

/** A watch that cannot judge a change ends, and looks again; the others go on. */
function offerTo(watcher: Watcher, event: CacheEvent): void {
  try {
    watcher.offer(event);
  } catch {
    watcher.cut();
  }
}
