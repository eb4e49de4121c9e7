/**
 * Resolves after one turn of the machine's event loop: every promise that could settle has settled by then. It carries no
 * time, so the simulator may use it to drain promises between two virtual events.
 */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
