import { RecentMap } from '@holdfast/platform';
import { parseKey, resourcePrefix } from './keys.ts';
import { SEALED_CHANGES_KEPT } from './limits.ts';
import type { Change, Revision, StoredObject, StoreKey, WriteOperation } from './port.ts';
import {
  isSealed,
  type SealedReader,
  type SealedView,
  type Sealer,
  type StoredValue,
  Unreadable,
} from './sealed-port.ts';

/**
 * Replaces the key of an undecryptable object's change in the feed, so that its revision is not missing. No client can
 * name it.
 */
const NOTHING_KEY = 'internal.holdfast/unreadable/-/object';

/** The newest state of an object that could not be opened. */
interface Mark {
  readonly why: Unreadable;
  readonly revision: Revision;
}

/** Opens and seals the values of one store, and remembers which objects it could not open. */
export class SealedValues implements SealedView {
  readonly #sealer: Sealer;
  readonly #stale = new Set<StoreKey>();
  readonly #unreadable = new Map<StoreKey, Mark>();
  /** The newest revision that the feed has brought of an object. */
  readonly #passed = new RecentMap<StoreKey, Revision>(SEALED_CHANGES_KEPT);
  readonly #listeners: ((key: StoreKey) => void)[] = [];
  readonly #readableListeners: ((object: StoredObject) => void)[] = [];

  constructor(sealer: Sealer) {
    this.#sealer = sealer;
  }

  readonly covers = (key: StoreKey): boolean => this.#sealer.covers(key);
  readonly isStale = (key: StoreKey): boolean => this.#stale.has(key);
  readonly unreadableCount = (): number => this.#unreadable.size;
  readonly onUnreadable = (listener: (key: StoreKey) => void): void => void this.#listeners.push(listener);

  readonly onReadable = (listener: (object: StoredObject) => void): void => void this.#readableListeners.push(listener);

  readonly unreadableAt = (key: StoreKey): Unreadable | undefined => this.#unreadable.get(key)?.why;

  readonly unreadable = (prefix: string): Unreadable | undefined => {
    if (this.#unreadable.size === 0) return undefined;
    for (const [key, { why }] of this.#unreadable) if (key.startsWith(prefix)) return why;
    return undefined;
  };

  /** The prefixes of the resources that have undecryptable objects. */
  unreadableResources(): ReadonlySet<string> {
    const prefixes = new Set<string>();
    for (const key of this.#unreadable.keys()) {
      const { group, resource } = parseKey(key);
      prefixes.add(resourcePrefix(group, resource));
    }
    return prefixes;
  }

  /** Without a wait when all keys are at hand. */
  prepared(values: readonly StoredValue[], reader: SealedReader): Promise<void> | undefined {
    return this.#sealer.prepare?.(values, reader);
  }

  sealed(operation: WriteOperation): WriteOperation {
    const { key, value, kind } = operation;
    return this.#sealer.covers(key) ? { ...operation, value: this.#sealer.seal(key, value, kind) } : operation;
  }

  /** Throws Unreadable. */
  opened(object: StoredObject): StoredObject {
    const { key, value: stored, revision } = object;
    if (!this.#concerns(key, stored)) return object;
    const value = this.#open(key, stored, revision);
    const readable = value === stored ? object : Object.freeze({ ...object, value });
    this.#markReadable(readable);
    return readable;
  }

  /** The feed has passed an object that could not be opened at this revision. It brings every later one. */
  #markReadable(object: StoredObject): void {
    const mark = this.#unreadable.get(object.key);
    if (mark === undefined || object.revision < mark.revision) return;
    this.#unreadable.delete(object.key);
    if (object.revision > mark.revision) return;
    for (const listener of this.#readableListeners) listener(object);
  }

  openedChange(change: Change): Change {
    const { key, kind, value: stored, revision } = change;
    if (!this.#concerns(key, stored)) return change;
    this.#passed.set(key, revision);
    try {
      const value = this.#open(key, stored, revision);
      this.#unreadable.delete(key);
      if (kind === 'deleted') this.#forget(key);
      return withValue(change, value);
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      return this.#unreadableChange(change);
    }
  }

  /** A deletion needs only the name of the object. */
  #unreadableChange(change: Change): Change {
    const { key, kind } = change;
    for (const listener of this.#listeners) listener(key);
    if (kind !== 'deleted') return { ...withValue(change, '{}'), key: NOTHING_KEY, kind: 'deleted' };
    this.#forget(key);
    const { namespace, name } = parseKey(key);
    return withValue(change, JSON.stringify({ metadata: namespace === '' ? { name } : { name, namespace } }));
  }

  #concerns(key: StoreKey, stored: string): boolean {
    return isSealed(stored) || this.#sealer.covers(key);
  }

  #open(key: StoreKey, stored: string, revision: Revision): string {
    try {
      const { value, isStale } = this.#sealer.open(key, stored);
      if (isStale) this.#stale.add(key);
      else this.#stale.delete(key);
      return value;
    } catch (error) {
      if (error instanceof Unreadable) this.#mark(key, { why: error, revision });
      throw error;
    }
  }

  /** A read may end after the feed has brought a newer state, or the deletion: then it marks nothing. */
  #mark(key: StoreKey, mark: Mark): void {
    const newest = Math.max(this.#unreadable.get(key)?.revision ?? 0, this.#passed.get(key) ?? 0);
    if (mark.revision >= newest) this.#unreadable.set(key, mark);
  }

  #forget(key: StoreKey): void {
    this.#unreadable.delete(key);
    this.#stale.delete(key);
  }
}

/** The previous state may be encrypted with an older key or form. */
function withValue(change: Change, value: string): Change {
  const { previousValue, ...rest } = change;
  return Object.freeze(previousValue === undefined ? { ...change, value } : { ...rest, value });
}
