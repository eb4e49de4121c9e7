/**
 * Resolves after one turn of the machine's event loop: by then every promise that could settle has settled. It reads no
 * time, so the simulator may use it to drain promises between two virtual events.
 */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Calls `run` after the events that have arrived by now are handled, so that their follow-up work can be batched. */
export function afterThisTurn(run: () => void): void {
  setImmediate(run);
}

/** Calls `run` when the work that is ready now has come to its next pause. */
export function afterThisStep(run: () => void): void {
  queueMicrotask(run);
}
