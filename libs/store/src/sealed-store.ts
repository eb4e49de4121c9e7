import { parseKey } from './keys.ts';
import type {
  Change,
  ListOptions,
  ListPage,
  Store,
  StoredObject,
  StoreKey,
  WriteOperation,
  WriteOptions,
} from './port.ts';

/** Encrypts values for the store and decrypts them. Pure except for its random numbers. */
export interface Sealer {
  /** True when objects of this key are stored in another form than their text. */
  readonly covers: (key: StoreKey) => boolean;
  readonly seal: (key: StoreKey, value: string) => string;
  /** Throws Unreadable when it has no key for the value. */
  readonly open: (key: StoreKey, stored: string) => OpenedValue;
}

export interface OpenedValue {
  readonly value: string;
  /**
   * True when the value is encrypted with a form that is no longer written. The next write replaces it, even if nothing
   * else changes.
   */
  readonly isStale: boolean;
}

/** Distinguishes encrypted values from the JSON text of objects, which begins with a brace. */
export const SEALED_PREFIX = 'k8s:enc:';
export const isSealed = (stored: string): boolean => stored.startsWith(SEALED_PREFIX);

/** The object exists, but no key decrypts its content. It never counts as absent. */
export class Unreadable extends Error {
  override readonly name = 'Unreadable';
  readonly key: StoreKey;
  readonly why: string;
  constructor(key: StoreKey, why: string) {
    super(`unable to transform key ${JSON.stringify(registryPath(key))}: ${why}`);
    this.key = key;
    this.why = why;
  }
}

function registryPath(key: StoreKey): string {
  const { group, resource, namespace, name } = parseKey(key);
  return ['/registry', group, resource, namespace, name].filter((part) => part !== '').join('/');
}

/** What an encrypting store knows about its objects beside their values. */
export interface SealedView {
  /** True when the last read of the object found a stale form: see `OpenedValue`. */
  readonly isStale: (key: StoreKey) => boolean;
  /** Returns an error for an object under this prefix that exists and cannot be decrypted. */
  readonly unreadable: (prefix: string) => Unreadable | undefined;
  readonly unreadableAt: (key: StoreKey) => Unreadable | undefined;
  readonly unreadableCount: () => number;
  /** Calls `listener` for each undecryptable object in the feed of changes, until the store is closed. */
  readonly onUnreadable: (listener: (key: StoreKey) => void) => void;
}

/** Wraps a store and encrypts its values. Readers of the base store see the encrypted form. */
export function createSealedStore(store: Store, sealer: Sealer): Store {
  const sealed = new SealedValues(sealer);
  const { cautions } = store;
  return {
    get: async (key) => {
      const { revision, object } = await store.get(key);
      return { revision, object: object === undefined ? undefined : sealed.opened(object) };
    },
    list: (prefix, options) => listReadable(store, sealed, prefix, options),
    write: (operations: readonly WriteOperation[], options?: WriteOptions) =>
      store.write(
        operations.map((operation) => sealed.sealed(operation)),
        options,
      ),
    changes: (options) => openedChanges(store.changes(options), sealed),
    currentRevision: () => store.currentRevision(),
    compactedRevision: () => store.compactedRevision(),
    lineage: () => store.lineage(),
    writeIdAt: (revision) => store.writeIdAt(revision),
    halt: (reason) => store.halt(reason),
    haltedBy: () => store.haltedBy(),
    compact: (upTo) => store.compact(upTo),
    usage: () => store.usage(),
    health: () => store.health(),
    ...(cautions === undefined ? {} : { cautions: () => cautions.call(store) }),
    atRest: sealed,
    close: () => store.close(),
  };
}

/**
 * Replaces the key of an undecryptable object's change in the feed, so that its revision is not missing. No client can
 * name it.
 */
const NOTHING_KEY = 'internal.holdfast/unreadable/-/object';

class SealedValues implements SealedView {
  readonly #sealer: Sealer;
  readonly #stale = new Set<StoreKey>();
  readonly #unreadable = new Map<StoreKey, Unreadable>();
  readonly #listeners: ((key: StoreKey) => void)[] = [];

  constructor(sealer: Sealer) {
    this.#sealer = sealer;
  }

  readonly isStale = (key: StoreKey): boolean => this.#stale.has(key);
  readonly unreadableCount = (): number => this.#unreadable.size;
  readonly onUnreadable = (listener: (key: StoreKey) => void): void => void this.#listeners.push(listener);

  readonly unreadableAt = (key: StoreKey): Unreadable | undefined => this.#unreadable.get(key);

  readonly unreadable = (prefix: string): Unreadable | undefined => {
    if (this.#unreadable.size === 0) return undefined;
    for (const [key, why] of this.#unreadable) if (key.startsWith(prefix)) return why;
    return undefined;
  };

  sealed(operation: WriteOperation): WriteOperation {
    const { key, value } = operation;
    return this.#sealer.covers(key) ? { ...operation, value: this.#sealer.seal(key, value) } : operation;
  }

  /** Throws Unreadable. */
  opened(object: StoredObject): StoredObject {
    const { key, value: stored } = object;
    const value = this.#open(key, stored);
    return value === stored ? object : Object.freeze({ ...object, value });
  }

  openedChange(change: Change): Change {
    const { key, kind, value: stored } = change;
    if (!this.#concerns(key, stored)) return change;
    try {
      const value = this.#open(key, stored);
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

  #open(key: StoreKey, stored: string): string {
    if (!this.#concerns(key, stored)) return stored;
    try {
      const { value, isStale } = this.#sealer.open(key, stored);
      this.#unreadable.delete(key);
      if (isStale) this.#stale.add(key);
      else this.#stale.delete(key);
      return value;
    } catch (error) {
      if (error instanceof Unreadable) this.#unreadable.set(key, error);
      throw error;
    }
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

async function* openedChanges(
  feed: AsyncIterable<readonly Change[]>,
  sealed: SealedValues,
): AsyncGenerator<readonly Change[]> {
  for await (const changes of feed) yield changes.map((change) => sealed.openedChange(change));
}

/** Omits undecryptable objects and remembers them. A page is empty only when no object follows it. */
async function listReadable(
  store: Store,
  sealed: SealedValues,
  ...[prefix, options]: [string, ListOptions | undefined]
): Promise<ListPage> {
  let after = options?.after;
  for (;;) {
    const page = await store.list(prefix, { ...options, ...(after === undefined ? {} : { after }) });
    const objects = page.objects.flatMap((object) => readable(sealed, object));
    if (objects.length > 0 || !page.more) return { ...page, objects };
    after = page.objects.at(-1)?.key;
  }
}

function readable(sealed: SealedValues, object: StoredObject): readonly StoredObject[] {
  try {
    return [sealed.opened(object)];
  } catch (error) {
    if (error instanceof Unreadable) return [];
    throw error;
  }
}
