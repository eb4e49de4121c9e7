import { ChangeFeed } from '../internal/change-feed.ts';
import { ObjectTable } from '../internal/object-table.ts';
import { assertBatch, committed, evaluate } from '../internal/operations.ts';
import { RecentWrites } from '../internal/recent-writes.ts';
import { MEMORY_HISTORY_BYTES, MEMORY_HISTORY_REVISIONS } from '../limits.ts';
import {
  type Change,
  type ListOptions,
  type ListPage,
  type Revision,
  type Store,
  type StoredObject,
  type StoreKey,
  StoreUnavailable,
  type WriteOperation,
  type WriteResult,
} from '../port.ts';

export interface MemoryStoreOptions {
  /** History is dropped beyond this many changes. */
  readonly historyRevisions?: number;
  /** History is dropped beyond this many bytes of values. */
  readonly historyBytes?: number;
}

/**
 * The store in this process's memory. Every answer is computed synchronously and handed over in a microtask: no timers,
 * no I/O, the same calls in the same order give the same results.
 */
export function createMemoryStore(options: MemoryStoreOptions = {}): Store {
  return new MemoryStore(options);
}

class MemoryStore implements Store {
  readonly #table = new ObjectTable();
  readonly #recent = new RecentWrites();
  readonly #feed: ChangeFeed;
  #closed = false;

  constructor(options: MemoryStoreOptions) {
    this.#feed = new ChangeFeed({
      start: 0,
      maxChanges: options.historyRevisions ?? MEMORY_HISTORY_REVISIONS,
      maxBytes: options.historyBytes ?? MEMORY_HISTORY_BYTES,
    });
  }

  async get(key: StoreKey): Promise<{ readonly revision: Revision; readonly object: StoredObject | undefined }> {
    this.#assertOpen();
    return { revision: this.#table.revision, object: this.#table.get(key) };
  }

  async list(prefix: string, options?: ListOptions): Promise<ListPage> {
    this.#assertOpen();
    return this.#table.list(prefix, options);
  }

  async write(operations: readonly WriteOperation[], options?: { readonly writeId?: string }): Promise<WriteResult> {
    this.#assertOpen();
    assertBatch(operations);
    const earlier = this.#recent.get(options?.writeId);
    if (earlier !== undefined) return earlier;
    const evaluation = evaluate(this.#table.get, this.#table.revision, operations);
    return evaluation.kind === 'refused' ? evaluation.result : this.#commit(evaluation.changes, options?.writeId);
  }

  changes(options: { readonly after: Revision; readonly signal: AbortSignal }): AsyncIterable<readonly Change[]> {
    return this.#feed.follow(options.after, options.signal);
  }

  async currentRevision(): Promise<Revision> {
    this.#assertOpen();
    return this.#table.revision;
  }

  async compactedRevision(): Promise<Revision> {
    this.#assertOpen();
    return this.#feed.floor;
  }

  async compact(upTo: Revision): Promise<void> {
    this.#assertOpen();
    this.#feed.dropUpTo(Math.min(upTo, this.#table.revision));
  }

  async health(): Promise<readonly string[]> {
    return this.#closed ? ['the store is closed'] : [];
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#feed.end(new StoreUnavailable('the store is closed'));
  }

  #commit(changes: readonly Change[], writeId: string | undefined): WriteResult {
    const result = committed(changes);
    this.#table.apply(changes);
    this.#recent.remember(writeId, result);
    this.#feed.publish(changes);
    return result;
  }

  #assertOpen(): void {
    if (this.#closed) throw new StoreUnavailable('the store is closed');
  }
}
