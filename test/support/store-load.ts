import { type Clock, createSystemClock } from '@holdfast/platform';
import { OutcomeUnknown, type Revision, type Store, StoreUnavailable, type WriteOperation } from '@holdfast/store';
import type { HistoryEvent } from '@holdfast/store/contract';

const KEYS = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map((name) => `core/pods/default/${name}`);
const PAUSE_AFTER_REFUSAL_MS = 5;
/** Every n-th value is large, so that a kill meets writes of many pages. */
const LARGE_EVERY = 7;
const LARGE_CHARACTERS = 60_000;

export interface StoreLoad {
  readonly events: HistoryEvent[];
  /** Answered writes by outcome, refusals of the store (`unavailable`) and open ends (`unknown`). */
  readonly counts: Map<string, number>;
  /** Resolves when `count` more writes were acknowledged. */
  acknowledged(count: number): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Clients that concurrently create, update, delete and read a few keys, and record the answers. They share out the
 * stores, which are views of the same data.
 */
export function startStoreLoad(stores: readonly Store[], clients: number): StoreLoad {
  const load = new Load(stores, createSystemClock());
  load.start(clients);
  return load;
}

/** One client's view of the data, with its last knowledge. */
interface View {
  readonly store: Store;
  readonly known: Map<string, Revision>;
}

class Load implements StoreLoad {
  readonly events: HistoryEvent[] = [];
  readonly counts = new Map<string, number>();
  readonly #stores: readonly Store[];
  readonly #clock: Clock;
  #clients: Promise<void>[] = [];
  #stopped = false;
  #moment = 0;

  constructor(stores: readonly Store[], clock: Clock) {
    this.#stores = stores;
    this.#clock = clock;
  }

  start(clients: number): void {
    this.#clients = Array.from({ length: clients }, (_, client) => this.#run(client));
  }

  async acknowledged(count: number): Promise<void> {
    const target = (this.counts.get('committed') ?? 0) + count;
    while ((this.counts.get('committed') ?? 0) < target) await this.#clock.sleep(1);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#clients);
  }

  async #run(client: number): Promise<void> {
    const known = new Map<string, Revision>();
    const store = this.#stores[client % this.#stores.length];
    if (store === undefined) throw new Error('a load needs a store');
    const view: View = { store, known };
    for (let step = 0; !this.#stopped; step++) {
      try {
        if (step % 4 === 3) await this.#read(KEYS[(client + step) % KEYS.length] ?? '', view);
        else await this.#write(step, `${client}.${step}`, view);
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error;
        this.#count('unavailable');
        await this.#clock.sleep(PAUSE_AFTER_REFUSAL_MS);
      }
    }
  }

  async #read(key: string, { store, known }: View): Promise<void> {
    const began = this.#moment++;
    const { revision, object } = await store.get(key);
    const values = new Map([[key, object?.value]]);
    this.events.push({ kind: 'read', began, ended: this.#moment++, revision, values });
    if (object === undefined) known.delete(key);
    else known.set(key, object.revision);
  }

  async #write(step: number, tag: string, { store, known }: View): Promise<void> {
    const first = (step * 5 + tag.length) % KEYS.length;
    const keys = [KEYS[first] ?? '', ...(step % 5 === 0 ? [KEYS[(first + 3) % KEYS.length] ?? ''] : [])];
    const operations = keys.map((key) => operationOn(key, known.get(key), step, `${tag}@${key}`));
    const began = this.#moment++;
    try {
      const result = await store.write(operations);
      this.events.push({ kind: 'write', operations, result, began, ended: this.#moment++ });
      this.#count(result.outcome);
      for (const [index, { key }] of operations.entries()) {
        if (result.outcome === 'committed') known.set(key, result.firstRevision + index);
        else known.delete(key);
      }
      if (result.outcome === 'exists' || result.outcome === 'conflict')
        known.set(keys[result.index] ?? '', result.currentRevision);
    } catch (error) {
      if (!(error instanceof OutcomeUnknown)) throw error;
      this.events.push({ kind: 'write', operations, result: 'unknown', began, ended: Number.POSITIVE_INFINITY });
      this.#count('unknown');
    }
  }

  #count(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
  }
}

function operationOn(key: string, known: Revision | undefined, step: number, tag: string): WriteOperation {
  const value = JSON.stringify({ tag, padding: 'x'.repeat(step % LARGE_EVERY === 0 ? LARGE_CHARACTERS : 1) });
  if (known === undefined) return { kind: 'create', key, value };
  return { kind: step % 6 === 5 ? 'delete' : 'update', key, value, expectedRevision: known };
}
