import type { NodeInfo } from './node-info.ts';
import type { Tried } from './preemption.ts';

interface Entry {
  readonly changes: number;
  readonly reports: number;
  readonly priority: number;
  readonly tried: Tried;
}

/**
 * Which pods would have to go from a node for pods with equal needs and equal priority. True until a pod there comes, goes or
 * reports: who runs longer is spared.
 */
export class TrialResults {
  readonly #bySlot = new Map<number, Entry>();

  of(node: NodeInfo, priority: number, tryNode: () => Tried): Tried {
    const { slot, changes, reports } = node;
    const known = this.#bySlot.get(slot);
    if (known?.changes === changes && known.reports === reports && known.priority === priority) return known.tried;
    const tried = tryNode();
    this.#bySlot.set(slot, { changes, reports, priority, tried });
    return tried;
  }
}
