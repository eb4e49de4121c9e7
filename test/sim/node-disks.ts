import { type ContainerRuntime, RuntimeError } from '@holdfast/kubelet';
import { NO_ROOM, runtimeOnDisk } from '@holdfast/kubelet/on-disk';
import type { SimulatedMachine } from '@holdfast/testing';

export interface DiskFault {
  /** The longest that anything which needs the disk takes. */
  readonly slowMs?: number;
  /** Nothing new can be written. */
  readonly isFull?: boolean;
}

/** The disks on which the container runtimes of nodes keep what they have. */
export class NodeDisks {
  readonly #faults = new Map<string, Set<DiskFault>>();

  /** Returns what ends it. */
  worsen(node: string, fault: DiskFault): () => void {
    const faults = this.#faults.get(node) ?? new Set();
    this.#faults.set(node, faults);
    faults.add(fault);
    return () => void faults.delete(fault);
  }

  /** A runtime as a kubelet meets it whose machine has this disk. */
  below(runtime: ContainerRuntime, machine: SimulatedMachine): ContainerRuntime {
    return runtimeOnDisk(runtime, (isNew) => this.#use(machine, isNew));
  }

  async #use({ name, clock, random }: SimulatedMachine, isNew: boolean): Promise<void> {
    const faults = [...(this.#faults.get(name) ?? [])];
    const slowMs = Math.max(0, ...faults.map((fault) => fault.slowMs ?? 0));
    if (slowMs > 0) await clock.sleep(random.float() * slowMs);
    if (isNew && faults.some(({ isFull }) => isFull === true)) throw new RuntimeError('IllegalState', NO_ROOM);
  }
}
