import type {
  Change,
  Lineage,
  ListOptions,
  ListPage,
  Revision,
  SealedView,
  Store,
  StoredObject,
  StoreKey,
  StoreUsage,
  WriteOperation,
  WriteOptions,
  WriteResult,
} from '@holdfast/store';
import type { History } from './history.ts';
import type { Authorship } from './record.ts';

/** The store of one request: the history learns who made its revisions. A class, because each write has one. */
export class AuthoredStore implements Store {
  readonly cautions?: () => readonly string[];
  readonly atRest?: SealedView;
  readonly #store: Store;
  readonly #history: History;
  readonly #authorship: () => Authorship;

  constructor(store: Store, history: History, authorship: () => Authorship) {
    this.#store = store;
    this.#history = history;
    this.#authorship = authorship;
    const { cautions } = store;
    if (cautions !== undefined) this.cautions = () => cautions.call(store);
    if (store.atRest !== undefined) this.atRest = store.atRest;
  }

  /** What the author has seen is noted before the write: its own event may arrive before its answer. */
  async write(operations: readonly WriteOperation[], options?: WriteOptions): Promise<WriteResult> {
    const authorship = this.#authorship();
    const result = await this.#store.write(operations, options);
    if (result.outcome === 'committed') this.#history.wrote(result.firstRevision, result.lastRevision, authorship);
    return result;
  }

  get(key: StoreKey): Promise<{ readonly revision: Revision; readonly object: StoredObject | undefined }> {
    return this.#store.get(key);
  }
  list(prefix: string, options?: ListOptions): Promise<ListPage> {
    return this.#store.list(prefix, options);
  }
  changes(options: { readonly after: Revision; readonly signal: AbortSignal }): AsyncIterable<readonly Change[]> {
    return this.#store.changes(options);
  }
  currentRevision(): Promise<Revision> {
    return this.#store.currentRevision();
  }
  compactedRevision(): Promise<Revision> {
    return this.#store.compactedRevision();
  }
  lineage(): Lineage {
    return this.#store.lineage();
  }
  writeIdAt(revision: Revision): Promise<string | undefined> {
    return this.#store.writeIdAt(revision);
  }
  halt(reason: string): void {
    this.#store.halt(reason);
  }
  haltedBy(): string | undefined {
    return this.#store.haltedBy();
  }
  compact(upTo: Revision): Promise<void> {
    return this.#store.compact(upTo);
  }
  usage(): StoreUsage {
    return this.#store.usage();
  }
  health(): Promise<readonly string[]> {
    return this.#store.health();
  }
  close(): Promise<void> {
    return this.#store.close();
  }
}
