import { type DurableStore, OutcomeUnknown, type WriteOperation } from '@holdfast/store';
import type { HistoryEvent } from '@holdfast/store/contract';

const REGISTERS = 6;

/** Reads registers and writes them by compare-and-swap, for many clients, and keeps what each of them saw. */
export class RegisterHistory {
  readonly events: HistoryEvent[] = [];
  acknowledged = 0;
  unknown = 0;
  readonly #onAcknowledged: () => void;
  #moment = 0;
  #value = 0;

  constructor(onAcknowledged: () => void = () => undefined) {
    this.#onAcknowledged = onAcknowledged;
  }

  /** One read and one write of a client. Rejects when the store is unavailable. */
  async step(store: DurableStore, client: number, step: number): Promise<void> {
    const key = `core/pods/default/r${(client * 7 + step) % REGISTERS}`;
    const began = this.#moment++;
    const { revision, object } = await store.get(key);
    this.events.push({ kind: 'read', began, ended: this.#moment++, revision, values: new Map([[key, object?.value]]) });
    const value = `"v${this.#value++}"`;
    const operation: WriteOperation =
      object === undefined
        ? { kind: 'create', key, value }
        : { kind: this.#value % 5 === 0 ? 'delete' : 'update', key, value, expectedRevision: object.revision };
    await this.#write(store, [operation]);
  }

  async #write(store: DurableStore, operations: readonly WriteOperation[]): Promise<void> {
    const began = this.#moment++;
    try {
      const result = await store.write(operations);
      if (result.outcome === 'committed') {
        this.acknowledged += 1;
        this.#onAcknowledged();
      }
      this.events.push({ kind: 'write', operations, result, began, ended: this.#moment++ });
    } catch (error) {
      if (!(error instanceof OutcomeUnknown)) throw error;
      this.unknown += 1;
      this.events.push({ kind: 'write', operations, result: 'unknown', began, ended: Number.POSITIVE_INFINITY });
    }
  }
}
