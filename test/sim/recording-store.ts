import { type Store, writingBy } from '@holdfast/store';
import type { SimulationKernel } from '@holdfast/testing';
import type { Commit } from './committed.ts';

/**
 * Folds every commit into the trace hash: two runs with the same hash wrote the same objects at the same times.
 * `observe` gets each commit in the order of the store.
 */
export function recordCommits(store: Store, kernel: SimulationKernel, observe: (commit: Commit) => void): Store {
  return writingBy(store, async (operations, options) => {
    const result = await store.write(operations, options);
    for (const { kind, key, value } of operations)
      kernel.record(`${result.outcome} ${kind} ${key} ${value.length} ${contentSum(value)}`);
    if (result.outcome !== 'committed') return result;
    operations.forEach((operation, i) => observe({ revision: result.firstRevision + i, operation }));
    return result;
  });
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
