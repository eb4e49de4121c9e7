import type { NodeInfo } from './node-info.ts';
import type { Tried } from './preemption.ts';

interface Entry {
  readonly changes: number;
  readonly reports: number;
  readonly priority: number;
  readonly tried: Tried;
}

interface Vain {
  /** Of the snapshot. */
  readonly version: number;
  readonly priority: number;
  readonly message: string;
}

/**
 * Which pods would have to go from a node for pods with equal needs and equal priority. True until a pod there comes, goes or
 * reports: who runs longer is spared.
 */
export class TrialResults {
  readonly #bySlot = new Map<number, Entry>();
  /** What was said where nobody's going helps on any node. Nobody's report changes that. */
  #vain: Vain | undefined;

  of(node: NodeInfo, priority: number, tryNode: () => Tried): Tried {
    const { slot, changes, reports } = node;
    const known = this.#bySlot.get(slot);
    if (known?.changes === changes && known.reports === reports && known.priority === priority) return known.tried;
    const tried = tryNode();
    this.#bySlot.set(slot, { changes, reports, priority, tried });
    return tried;
  }

  inVain(version: number, priority: number): string | undefined {
    return this.#vain?.version === version && this.#vain.priority === priority ? this.#vain.message : undefined;
  }

  noteVain(vain: Vain): void {
    this.#vain = vain;
  }
}
