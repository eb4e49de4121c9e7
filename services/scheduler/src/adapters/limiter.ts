/** Runs background tasks up to a maximum; callers wait while it is full. */
export interface Limiter {
  /** Starts the task now or when there is capacity. The task must not reject. */
  start(task: () => Promise<void>): void;
  /** Number of active tasks. */
  active(): number;
  /** Resolves when there is capacity. */
  place(): Promise<void>;
  /** Resolves when no task is active or waiting. */
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
