import type { Store } from '@holdfast/store';
import type { SimulationKernel } from '@holdfast/testing';

/** Folds every commit into the trace hash: two runs that agree on it wrote the same objects at the same times. */
export function recordCommits(store: Store, kernel: SimulationKernel): Store {
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
      for (const operation of operations) {
        kernel.record(
          `${result.outcome} ${operation.kind} ${operation.key} ${'value' in operation ? operation.value : ''}`,
        );
      }
      return result;
    },
  };
  return recording;
}
