import type { NodeInfo } from './node-info.ts';
import type { Tried } from './preemption.ts';

interface Entry {
  readonly changes: number;
  readonly reports: number;
  readonly priority: number;
  readonly tried: Tried;
}

interface Vain {
  /** The version of the snapshot. */
  readonly version: number;
  readonly priority: number;
  readonly message: string;
}

/**
 * The victims on a node for pods with equal needs and priority. Valid until a pod there is added, removed or reports:
 * the report may change which pod runs longer.
 */
export class TrialResults {
  readonly #bySlot = new Map<number, Entry>();
  /** The shared result when removing pods helps on no node. Status reports do not change it. */
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
