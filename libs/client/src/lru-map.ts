/** A map that forgets the entry that was not used for longest when it holds more than `maxEntries`. */
export interface LruMap<V> {
  get(key: string): V | undefined;
  set(key: string, value: V): void;
}

export function createLruMap<V>(maxEntries: number): LruMap<V> {
  const entries = new Map<string, V>();
  const touch = (key: string, value: V): void => {
    entries.delete(key);
    entries.set(key, value);
  };
  return {
    get: (key) => {
      const value = entries.get(key);
      if (value !== undefined) touch(key, value);
      return value;
    },
    set: (key, value) => {
      touch(key, value);
      if (entries.size <= maxEntries) return;
      const oldest = entries.keys().next();
      if (oldest.done !== true) entries.delete(oldest.value);
    },
  };
}
