/** Background work with a maximum of tasks under way; `full` callers wait for a place. */
export interface Limiter {
  /** Starts the task now or when a place is free. The task must not reject. */
  start(task: () => Promise<void>): void;
  /** Tasks under way. */
  active(): number;
  /** Resolves when a place is free. */
  place(): Promise<void>;
  /** Resolves when nothing is under way or waiting. */
  idle(): Promise<void>;
}

export function createLimiter(max: number): Limiter {
  const waiting: (() => Promise<void>)[] = [];
  let watchers: (() => void)[] = [];
  let active = 0;
  const changed = async (condition: () => boolean): Promise<void> => {
    while (!condition()) {
      const { promise, resolve } = Promise.withResolvers<void>();
      watchers.push(resolve);
      await promise;
    }
  };
  const run = (task: () => Promise<void>): void => {
    active++;
    void task().finally(() => {
      active--;
      const next = waiting.shift();
      if (next !== undefined) run(next);
      const woken = watchers;
      watchers = [];
      for (const wake of woken) wake();
    });
  };
  return {
    start: (task) => {
      if (active < max) run(task);
      else waiting.push(task);
    },
    active: () => active,
    place: () => changed(() => active < max),
    idle: () => changed(() => active === 0 && waiting.length === 0),
  };
}
