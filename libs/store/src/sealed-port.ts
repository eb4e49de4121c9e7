import { parseKey } from './keys.ts';
import type { StoredObject, StoreKey, WriteOperation } from './port.ts';

/** Encrypts values for the store and decrypts them. Pure except for its random numbers. */
export interface Sealer {
  /** True when objects of this key are stored in another form than their text. */
  readonly covers: (key: StoreKey) => boolean;
  /** Throws Unsealable when it may not encrypt now. */
  readonly seal: (key: StoreKey, value: string, kind: WriteOperation['kind']) => string;
  /** Throws Unreadable when it has no key for the value. */
  readonly open: (key: StoreKey, stored: string) => OpenedValue;
  /**
   * Fetches the keys that `open` needs for these values. Never rejects: `open` reports what is missing. Returns
   * `undefined` when nothing is missing. Absent when all keys are always at hand.
   */
  readonly prepare?: (values: readonly StoredValue[], reader: SealedReader) => Promise<void> | undefined;
  /** Calls `listener` when values that could not be opened before may open now. */
  readonly onReady?: (listener: () => void) => void;
}

export interface StoredValue {
  readonly key: StoreKey;
  readonly value: string;
}

/** The feed of changes carries all resources, so it waits for a shorter time than a request. */
export type SealedReader = 'request' | 'feed';

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

/** The value cannot be encrypted now. Nothing was written. */
export class Unsealable extends Error {
  override readonly name = 'Unsealable';
  constructor(key: StoreKey, why: string) {
    super(`unable to encrypt key ${JSON.stringify(registryPath(key))}: ${why}`);
  }
}

function registryPath(key: StoreKey): string {
  const { group, resource, namespace, name } = parseKey(key);
  return ['/registry', group, resource, namespace, name].filter((part) => part !== '').join('/');
}

/** What an encrypting store knows about its objects beside their values. */
export interface SealedView {
  /** True when objects of this key are encrypted. */
  readonly covers: (key: StoreKey) => boolean;
  /** True when the last read of the object found a stale form: see `OpenedValue`. */
  readonly isStale: (key: StoreKey) => boolean;
  /** Returns an error for an object under this prefix that exists and cannot be decrypted. */
  readonly unreadable: (prefix: string) => Unreadable | undefined;
  readonly unreadableAt: (key: StoreKey) => Unreadable | undefined;
  readonly unreadableCount: () => number;
  /** Calls `listener` for each undecryptable object in the feed of changes, until the store is closed. */
  readonly onUnreadable: (listener: (key: StoreKey) => void) => void;
  /**
   * Calls `listener` with each object that could not be decrypted and can be now, although it did not change. The feed
   * of changes does not bring it again.
   */
  readonly onReadable: (listener: (object: StoredObject) => void) => void;
}
