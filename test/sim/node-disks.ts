import { type ContainerRuntime, RuntimeError } from '@holdfast/kubelet';
import type { SimulatedMachine } from '@holdfast/testing';

export interface DiskFault {
  /** The longest that anything which needs the disk takes. */
  readonly slowMs?: number;
  /** Nothing new can be written. */
  readonly isFull?: boolean;
}

const NEEDS_DISK = new Set<string | symbol>([
  'runSandbox',
  'stopSandbox',
  'removeSandbox',
  'createContainer',
  'startContainer',
  'stopContainer',
  'removeContainer',
  'list',
]);
const WRITES_NEW = new Set<string | symbol>(['runSandbox', 'createContainer']);

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
    return new Proxy(runtime, {
      get: (of, name) => {
        const member: unknown = Reflect.get(of, name);
        if (typeof member !== 'function') return member;
        if (!NEEDS_DISK.has(name)) return member.bind(of);
        return async (...given: unknown[]): Promise<unknown> => {
          await this.#use(machine, WRITES_NEW.has(name));
          return Reflect.apply(member, of, given) as unknown;
        };
      },
    });
  }

  async #use({ name, clock, random }: SimulatedMachine, isNew: boolean): Promise<void> {
    const faults = [...(this.#faults.get(name) ?? [])];
    const slowMs = Math.max(0, ...faults.map((fault) => fault.slowMs ?? 0));
    if (slowMs > 0) await clock.sleep(random.float() * slowMs);
    if (isNew && faults.some(({ isFull }) => isFull === true))
      throw new RuntimeError('IllegalState', 'no space left on device');
  }
}
