import type { Ids } from '@holdfast/platform';
import { ChangeFeed } from '../internal/change-feed.ts';
import { ObjectTable } from '../internal/object-table.ts';
import { assertBatch, committed, evaluate } from '../internal/operations.ts';
import { RecentWrites } from '../internal/recent-writes.ts';
import { type Asking, historyRoom, leastHistory, refusedForRoom, roomCautions, totalOf } from '../internal/room.ts';
import { MEMORY_HISTORY_BYTES, MEMORY_HISTORY_REVISIONS } from '../limits.ts';
import {
  type Change,
  Compacted,
  type Lineage,
  type ListOptions,
  type ListPage,
  type Revision,
  type Store,
  type StoredObject,
  StoreHalted,
  type StoreKey,
  type StoreLimits,
  StoreUnavailable,
  type StoreUsage,
  type WriteOperation,
  type WriteOptions,
  type WriteResult,
} from '../port.ts';

export interface MemoryStoreOptions {
  /** Maximum number of changes in the history. */
  readonly historyRevisions?: number;
  /** Maximum bytes of values in the history. */
  readonly historyBytes?: number;
  /** Names the store and its writes. Without it every store has the same name, which only tests may accept. */
  readonly ids?: Ids;
  /** The lineage of the store that this one continues, in tests that replace the data with an older copy. */
  readonly lineage?: Lineage;
  /** The result of an adoption: objects without a history. */
  readonly adopted?: { readonly objects: readonly StoredObject[]; readonly revision: Revision };
  /** Absent means no limit. */
  readonly limits?: StoreLimits | undefined;
}

/**
 * The store in this process's memory. It computes every answer synchronously and delivers it in a microtask. There are
 * no timers and no I/O: the same calls in the same order give the same results.
 */
export function createMemoryStore(options: MemoryStoreOptions = {}): Store {
  return new MemoryStore(options);
}

class MemoryStore implements Store {
  readonly #table = new ObjectTable();
  readonly #recent = new RecentWrites();
  readonly #feed: ChangeFeed;
  readonly #lineage: Lineage;
  readonly #ownIds: string;
  readonly #limits: StoreLimits | undefined;
  #halted: StoreHalted | undefined;
  #haltReason: string | undefined;
  #closed = false;

  constructor(options: MemoryStoreOptions) {
    this.#lineage = options.lineage ?? { incarnation: options.ids?.uuid() ?? 'memory', epoch: 1 };
    this.#ownIds = options.ids?.uuid() ?? 'memory';
    for (const object of options.adopted?.objects ?? []) this.#table.restore(object);
    this.#table.restoreRevision(options.adopted?.revision ?? 0);
    this.#limits = options.limits;
    this.#feed = new ChangeFeed({
      start: this.#table.revision,
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

  async write(operations: readonly WriteOperation[], options: WriteOptions = {}): Promise<WriteResult> {
    this.#assertOpen();
    assertBatch(operations);
    const { writeId, room = 'ordinary' } = options;
    const earlier = this.#recent.get(writeId);
    if (earlier !== undefined) return earlier;
    const { revision } = this.#table;
    const storedId = writeId ?? `${this.#ownIds}.${revision + 1}`;
    const evaluation = evaluate(this.#table.get, revision, { operations, writeId: storedId });
    if (evaluation.kind === 'refused') return evaluation.result;
    const { changes } = evaluation;
    this.#makeRoom({ changes, room });
    return this.#commit(changes, writeId);
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

  lineage(): Lineage {
    return this.#lineage;
  }

  async writeIdAt(revision: Revision): Promise<string | undefined> {
    this.#assertOpen();
    if (revision <= this.#feed.floor) throw new Compacted(this.#feed.floor);
    return this.#feed.at(revision)?.writeId;
  }

  halt(reason: string): void {
    this.#haltReason ??= reason;
    this.#halted ??= new StoreHalted(reason);
    this.#feed.end(this.#halted);
  }

  haltedBy(): string | undefined {
    return this.#haltReason;
  }

  async compact(upTo: Revision): Promise<void> {
    this.#assertOpen();
    this.#feed.dropUpTo(Math.min(upTo, this.#table.revision));
  }

  usage(): StoreUsage {
    return { objectBytes: this.#table.bytes, historyBytes: this.#feed.bytes, limits: this.#limits };
  }

  readonly cautions = (): readonly string[] => roomCautions(this.usage());

  async health(): Promise<readonly string[]> {
    if (this.#halted !== undefined) return [this.#halted.message];
    return this.#closed ? ['the store is closed'] : [];
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#feed.end(new StoreUnavailable('the store is closed'));
  }

  /** Drops history first. Throws `StoreFull` when that is not enough. */
  #makeRoom(asking: Asking): void {
    const limits = this.#limits;
    if (limits === undefined || refusedForRoom(limits, totalOf(this.usage()), asking) === undefined) return;
    this.#feed.shrinkTo(leastHistory(limits));
    const full = refusedForRoom(limits, totalOf(this.usage()), asking);
    if (full !== undefined) throw full;
  }

  #commit(changes: readonly Change[], writeId: string | undefined): WriteResult {
    const result = committed(changes);
    this.#table.apply(changes);
    this.#recent.remember(writeId, result);
    this.#feed.publish(changes);
    this.#feed.shrinkTo(historyRoom(this.#limits, this.#table.bytes, Number.POSITIVE_INFINITY));
    return result;
  }

  #assertOpen(): void {
    if (this.#halted !== undefined) throw this.#halted;
    if (this.#closed) throw new StoreUnavailable('the store is closed');
  }
}
