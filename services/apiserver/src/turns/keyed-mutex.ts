/** Work under the same key runs one after the other, in the order of the calls. Work under different keys runs side by side. */
export interface KeyedMutex {
  /** Resolves or rejects as `work` does. A failure does not stop the work that waits behind it. */
  readonly run: <T>(key: string, work: () => Promise<T>) => Promise<T>;
}

export function createKeyedMutex(): KeyedMutex {
  const last = new Map<string, Promise<unknown>>();
  return {
    run: (key, work) => {
      const mine = (last.get(key) ?? Promise.resolve()).then(work, work);
      last.set(key, mine);
      const leave = (): void => {
        if (last.get(key) === mine) last.delete(key);
      };
      mine.then(leave, leave);
      return mine;
    },
  };
}
