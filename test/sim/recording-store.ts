import type { Store } from '@holdfast/store';
import type { SimulationKernel } from '@holdfast/testing';
import type { Commit } from './committed.ts';

/**
 * Folds every commit into the trace hash: two runs with the same hash wrote the same objects at the same times.
 * `observe` gets each commit in the order of the store.
 */
export function recordCommits(store: Store, kernel: SimulationKernel, observe: (commit: Commit) => void): Store {
  const recording: Store = {
    get: (key) => store.get(key),
    list: (prefix, options) => store.list(prefix, options),
    changes: (options) => store.changes(options),
    currentRevision: () => store.currentRevision(),
    compactedRevision: () => store.compactedRevision(),
    lineage: () => store.lineage(),
    writeIdAt: (revision) => store.writeIdAt(revision),
    halt: (reason) => store.halt(reason),
    haltedBy: () => store.haltedBy(),
    compact: (upTo) => store.compact(upTo),
    usage: () => store.usage(),
    health: () => store.health(),
    close: () => store.close(),
    write: async (operations, options) => {
      const result = await store.write(operations, options);
      for (const { kind, key, value } of operations)
        kernel.record(`${result.outcome} ${kind} ${key} ${value.length} ${contentSum(value)}`);
      if (result.outcome !== 'committed') return result;
      operations.forEach((operation, i) => observe({ revision: result.firstRevision + i, operation }));
      return result;
    },
  };
  return recording;
}

/**
 * The same for the same object, whatever the order of its members: that depends on what the process has encoded before,
 * in other runs.
 */
function contentSum(value: string): number {
  let sum = 0;
  for (let at = 0; at < value.length; at++) {
    const code = value.charCodeAt(at);
    sum = (sum + Math.imul(code, code + SPREAD)) | 0;
  }
  return sum >>> 0;
}

/** Makes a sum of squares of character codes hard to reach with other characters. */
const SPREAD = 0x9e3779b1;
