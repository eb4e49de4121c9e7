/**
 * Resolves after one turn of the machine's event loop: every promise that could settle has settled by then. It carries no
 * time, so the simulator may use it to drain promises between two virtual events.
 */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Calls `run` when what has arrived by now was looked at: what many of them leave to do can be done together. */
export function afterThisTurn(run: () => void): void {
  setImmediate(run);
}
