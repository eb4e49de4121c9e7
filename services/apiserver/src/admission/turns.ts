/** Work under the same key runs one after the other, in the order in which it came. */
export interface Turns {
  readonly take: <T>(key: string, work: () => Promise<T>) => Promise<T>;
}

export function createTurns(): Turns {
  const last = new Map<string, Promise<unknown>>();
  return {
    take: (key, work) => {
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
