import { type Clock, describeError, type Ids, type Log } from '@holdfast/platform';
import { ChangeFeed } from '../internal/change-feed.ts';
import { sizeOfChange } from '../internal/change-size.ts';
import type { HistoryBytes } from '../internal/history-bytes.ts';
import { every, Maintenance } from '../internal/maintenance.ts';
import type { ObjectTable } from '../internal/object-table.ts';
import { assertBatch } from '../internal/operations.ts';
import type { RecentWrites } from '../internal/recent-writes.ts';
import { DEFAULT_RETENTION, type RetentionLimits, retentionBeside } from '../internal/retention.ts';
import { isPressed, roomCautions } from '../internal/room.ts';
import {
  FEED_BATCH_CHANGES,
  MAINTAIN_INTERVAL_MS,
  RECENT_CHANGES,
  RECENT_CHANGES_BYTES,
  SQLITE_WRITES_WAITING,
  STORE_CHECK_INTERVAL_MS,
} from '../limits.ts';
import {
  type Change,
  Compacted,
  type DurableStore,
  type Lineage,
  type ListOptions,
  type ListPage,
  OutcomeUnknown,
  type Revision,
  type StoredObject,
  StoreFull,
  StoreHalted,
  type StoreKey,
  type StoreLimits,
  StoreUnavailable,
  type StoreUsage,
  type WriteOperation,
  type WriteOptions,
  type WriteResult,
} from '../port.ts';
import {
  type CommitLog,
  CommitThread,
  ThreadFailedToOpen,
  ThreadFilesReplaced,
  ThreadRefused,
} from './commit-thread.ts';
import { type CommitGroup, OwnWriteIds, type QueuedWrite, takeGroup } from './group-commit.ts';
import { type LoadedState, Loader } from './loader.ts';
import { openError } from './open-errors.ts';
import type { ChangeRow, Opened } from './protocol.ts';

export interface SqliteStoreOptions {
  /** Created when absent. Only one process may use it at a time. */
  readonly directory: string;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly retention?: RetentionLimits;
  /** Absent means no limit. */
  readonly limits?: StoreLimits | undefined;
}

/** Opens the directory, takes its lock and loads all objects. Rejects with an OperatorError when it cannot be used. */
export async function createSqliteStore(options: SqliteStoreOptions): Promise<DurableStore> {
  const { directory, ids } = options;
  const thread = new CommitThread({ directory, incarnation: ids.uuid() });
  const loader = new Loader();
  try {
    const opened = await thread.load(loader.take);
    return new SqliteStore(options, thread, { ...loader.finish(opened.compacted), ...opened });
  } catch (error) {
    await thread.close();
    const message = error instanceof Error ? error.message : String(error);
    const failure = error instanceof ThreadFailedToOpen ? error.failure : ({ reason: 'damaged', message } as const);
    throw openError(directory, failure, error);
  }
}

/**
 * All objects are in memory, and every change is in a file. Memory holds only durable state: a group of writes is
 * evaluated, committed by the thread, then applied and answered. Only then the next group is evaluated.
 */
export class SqliteStore implements DurableStore {
  readonly #options: SqliteStoreOptions;
  readonly #thread: CommitLog;
  readonly #table: ObjectTable;
  readonly #recent: RecentWrites;
  readonly #feed: ChangeFeed;
  readonly #bytes: HistoryBytes;
  readonly #maintenance: Maintenance;
  readonly #loops: readonly { stop(): void }[];
  readonly #lineage: Lineage;
  readonly #ownIds: OwnWriteIds;
  readonly #queue: QueuedWrite[] = [];
  #compacted: Revision;
  #committing: Promise<void> | undefined;
  #relief: Promise<void> | undefined;
  /** A write found no room since the last compaction. */
  #isRefusing = false;
  #lastRefusal: string | undefined;
  #broken: string | undefined;
  #halted: { readonly reason: string; readonly error: StoreHalted } | undefined;
  #closed = false;

  constructor(options: SqliteStoreOptions, thread: CommitLog, state: LoadedState & Opened) {
    const { clock, log, retention = DEFAULT_RETENTION } = options;
    this.#options = options;
    this.#thread = thread;
    this.#table = state.table;
    this.#recent = state.recent;
    this.#compacted = state.compacted;
    this.#lineage = state.lineage;
    this.#ownIds = new OwnWriteIds(options.ids.uuid().slice(0, OWN_ID_CHARACTERS));
    this.#feed = new ChangeFeed({
      start: state.table.revision - state.changes.length,
      maxChanges: RECENT_CHANGES,
      maxBytes: RECENT_CHANGES_BYTES,
      readOlder: (after) => this.#readOlder(after),
    });
    this.#feed.publish(state.changes);
    this.#bytes = state.bytes;
    const measure = async () => ({
      current: this.#table.revision,
      compacted: this.#compacted,
      bytes: this.#bytes.total,
    });
    const compact = (upTo: Revision): Promise<void> => this.compact(upTo);
    const limits = (): RetentionLimits => retentionBeside(retention, this.usage(), this.#isRefusing);
    this.#maintenance = new Maintenance({ clock, limits, measure, compact });
    this.#loops = [
      every({ clock, log, what: 'compaction' }, MAINTAIN_INTERVAL_MS, this.maintain),
      every({ clock, log, what: 'check' }, STORE_CHECK_INTERVAL_MS, () => this.#check()),
    ];
  }

  async get(key: StoreKey): Promise<{ readonly revision: Revision; readonly object: StoredObject | undefined }> {
    this.#assertServing();
    return { revision: this.#table.revision, object: this.#table.get(key) };
  }

  async list(prefix: string, options?: ListOptions): Promise<ListPage> {
    this.#assertServing();
    return this.#table.list(prefix, options);
  }

  async write(operations: readonly WriteOperation[], options: WriteOptions = {}): Promise<WriteResult> {
    this.#assertServing();
    assertBatch(operations);
    if (this.#queue.length >= SQLITE_WRITES_WAITING) throw new StoreUnavailable('too many writes are waiting');
    return new Promise((resolve, reject) => {
      const { writeId, room = 'ordinary' } = options;
      this.#queue.push({ operations, writeId, room, resolve, reject });
      this.#committing ??= this.#commitQueue();
    });
  }

  changes(options: { readonly after: Revision; readonly signal: AbortSignal }): AsyncIterable<readonly Change[]> {
    return this.#feed.follow(options.after, options.signal);
  }

  async currentRevision(): Promise<Revision> {
    this.#assertServing();
    return this.#table.revision;
  }

  async compactedRevision(): Promise<Revision> {
    this.#assertServing();
    return this.#compacted;
  }

  async compact(upTo: Revision): Promise<void> {
    this.#assertServing();
    const target = Math.min(upTo, this.#table.revision);
    if (target <= this.#compacted) return;
    await this.#thread.ask({ kind: 'markCompacted', upTo: target });
    this.#compacted = Math.max(this.#compacted, target);
    this.#feed.dropUpTo(target);
    this.#bytes.dropUpTo(target);
    while (!this.#closed && (await this.#thread.ask({ kind: 'trim' })).more === true);
  }

  lineage(): Lineage {
    return this.#lineage;
  }

  async writeIdAt(revision: Revision): Promise<string | undefined> {
    this.#assertServing();
    if (revision > this.#table.revision) return undefined;
    const { rows = [] } = await this.#thread.ask({ kind: 'history', after: revision - 1, limit: 1 });
    if (revision <= this.#compacted) throw new Compacted(this.#compacted);
    return rows[0]?.writeId ?? '';
  }

  /** The file records the halt too, so that a restart does not serve the data. */
  halt(reason: string): void {
    if (this.#halted !== undefined) return;
    this.#stopServing(reason);
    this.#thread.ask({ kind: 'halt', reason }).catch((error: unknown) => {
      this.#options.log.error('the halt could not be recorded', { error });
    });
  }

  haltedBy(): string | undefined {
    return this.#halted?.reason;
  }

  readonly maintain = (): Promise<void> => this.#maintenance.run();

  usage(): StoreUsage {
    return { objectBytes: this.#table.bytes, historyBytes: this.#bytes.total, limits: this.#options.limits };
  }

  readonly cautions = (): readonly string[] => roomCautions(this.usage());

  async health(): Promise<readonly string[]> {
    if (this.#closed) return ['the store is closed'];
    if (this.#halted !== undefined) return [this.#halted.error.message];
    if (this.#broken !== undefined) return [halted(this.#broken)];
    return this.#lastRefusal === undefined ? [] : [`the last write could not be stored: ${this.#lastRefusal}`];
  }

  async close(): Promise<void> {
    if (!this.#closed) {
      this.#closed = true;
      for (const loop of this.#loops) loop.stop();
      const closed = new StoreUnavailable('the store is closed');
      for (const write of this.#queue.splice(0)) write.reject(closed);
      this.#feed.end(closed);
    }
    await this.#committing;
    await this.#relief;
    await this.#thread.close();
  }

  /** Commits groups until the queue is empty. Writes that arrive during a commit form the next group. */
  async #commitQueue(): Promise<void> {
    // Waits one microtask, so that callers woken by the same event share the first group, too.
    await Promise.resolve();
    while (this.#queue.length > 0) await this.#commitGroup(this.#takeGroup());
    this.#committing = undefined;
  }

  #takeGroup(): CommitGroup {
    const { limits } = this.#options;
    const state = {
      table: this.#table,
      recent: this.#recent,
      ownIds: this.#ownIds,
      historyBytes: this.#bytes.total,
      limits,
    };
    return takeGroup(this.#queue, state);
  }

  async #commitGroup(group: CommitGroup): Promise<void> {
    try {
      if (group.rows.length > 0) await this.#thread.ask({ kind: 'commit', rows: group.rows });
    } catch (error) {
      this.#failGroup(group, error);
      return;
    }
    this.#lastRefusal = undefined;
    this.#table.apply(group.changes);
    for (const [writeId, result] of group.written) this.#recent.remember(writeId, result);
    this.#publish(group.changes);
    for (const { write, result } of group.answers) {
      if (result instanceof StoreFull) {
        this.#isRefusing = true;
        write.reject(result);
      } else write.resolve(result);
    }
    this.#relieve();
  }

  /** A nearly full store compacts now, instead of at the next maintenance. */
  #relieve(): void {
    if (this.#relief !== undefined || this.#closed) return;
    if (!this.#isRefusing && !isPressed(this.#options.limits, this.usage())) return;
    this.#relief = this.#compactNow();
  }

  async #compactNow(): Promise<void> {
    try {
      await this.maintain();
    } catch (error) {
      if (!this.#closed) this.#options.log.warn('history could not be compacted', { reason: describeError(error) });
    } finally {
      this.#relief = undefined;
      this.#isRefusing = false;
    }
  }

  #failGroup(group: CommitGroup, error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    const isReplaced = error instanceof ThreadFilesReplaced;
    const isRefused = isReplaced || error instanceof ThreadRefused;
    if (isReplaced) this.#stopServing(message);
    else if (isRefused) this.#lastRefusal = message;
    else this.#halt(message);
    for (const { write } of group.answers) {
      const writeId = write.writeId ?? this.#options.ids.uuid();
      write.reject(
        isRefused
          ? new StoreUnavailable(`the write could not be stored: ${message}`, { cause: error })
          : new OutcomeUnknown(writeId, { cause: error }),
      );
    }
  }

  /** The files differ from those that this process wrote: its memory differs from what a restart would find. */
  async #check(): Promise<void> {
    if (this.#halted !== undefined || this.#broken !== undefined) return;
    try {
      await this.#thread.ask({ kind: 'check' });
    } catch (error) {
      if (!(error instanceof ThreadFilesReplaced)) throw error;
      this.#stopServing(error.message);
    }
  }

  #stopServing(reason: string): void {
    if (this.#halted !== undefined) return;
    this.#options.log.error('the store is halted', { reason });
    const error = new StoreHalted(reason);
    this.#halted = { reason, error };
    for (const write of this.#queue.splice(0)) write.reject(error);
    this.#feed.end(error);
  }

  /** The content of the disk is uncertain. Only a restart, which reads it, can tell. */
  #halt(reason: string): void {
    this.#options.log.error('the store is halted until a restart', { reason });
    this.#broken ??= reason;
    const unavailable = new StoreUnavailable(halted(reason));
    for (const write of this.#queue.splice(0)) write.reject(unavailable);
    this.#feed.end(unavailable);
  }

  #publish(changes: readonly Change[]): void {
    if (changes.length === 0) return;
    for (const change of changes) this.#bytes.add(change.revision, sizeOfChange(change));
    this.#feed.publish(changes);
  }

  async #readOlder(after: Revision): Promise<readonly Change[]> {
    const { rows = [] } = await this.#thread.ask({ kind: 'history', after, limit: FEED_BATCH_CHANGES });
    // This check must follow the read: a compaction meanwhile may have taken some of the rows.
    if (after < this.#compacted) throw new Compacted(this.#compacted);
    return rows.map(changeOfRow);
  }

  #assertServing(): void {
    if (this.#closed) throw new StoreUnavailable('the store is closed');
    if (this.#halted !== undefined) throw this.#halted.error;
    if (this.#broken !== undefined) throw new StoreUnavailable(halted(this.#broken));
  }
}

/** The part of a run's id that is enough to distinguish the runs on one file. */
const OWN_ID_CHARACTERS = 8;

const halted = (reason: string): string => `the store is halted: ${reason}; it serves again after a restart`;

function changeOfRow({ revision, kind, key, value, previousRevision, writeId }: ChangeRow): Change {
  return { revision, kind, key, value, previousRevision, ...(writeId === null ? {} : { writeId }) };
}
