/**
 * The store is the only truth. There is one global revision. Every change of an object is a compare-and-swap and takes
 * the next revision. Backends (memory, sqlite, redis) pass the same contract tests (`@holdfast/store/contract`).
 */

import type { SealedView } from './sealed-port.ts';

/** Position in the one global order of changes. Starts at 1 with the first change; 0 means "before everything". */
export type Revision = number;

/** `<group>/<resource>/<namespace or ->/<name>`; the core group is written `core`. See `keys.ts`. */
export type StoreKey = string;

/**
 * Names one history. Within a lineage a revision means the same change for ever. Data that went back to an earlier
 * state continue only in the next epoch, which an operator begins (`holdfast store adopt`).
 */
export interface Lineage {
  /** Created with the store. It is a secret: it signs the history tokens of clients. */
  readonly incarnation: string;
  readonly epoch: number;
}

export interface StoredObject {
  readonly key: StoreKey;
  /** The object as JSON text, without `metadata.resourceVersion`. */
  readonly value: string;
  /** Revision of the last change of this object. */
  readonly revision: Revision;
  /** Revision at which this object was created. */
  readonly createRevision: Revision;
}

export type WriteOperation =
  | { readonly kind: 'create'; readonly key: StoreKey; readonly value: string }
  | { readonly kind: 'update'; readonly key: StoreKey; readonly value: string; readonly expectedRevision: Revision }
  | {
      readonly kind: 'delete';
      readonly key: StoreKey;
      /** Last state of the object. The DELETED change carries it. */
      readonly value: string;
      readonly expectedRevision: Revision;
    };

export type WriteResult =
  /** All operations are durable. Operation n took revision `firstRevision + n`. */
  | { readonly outcome: 'committed'; readonly firstRevision: Revision; readonly lastRevision: Revision }
  /** Nothing was written: operation `index` found another revision (`exists`/`notFound` have their own outcome). */
  | { readonly outcome: 'conflict'; readonly index: number; readonly currentRevision: Revision }
  | { readonly outcome: 'exists'; readonly index: number; readonly currentRevision: Revision }
  | { readonly outcome: 'notFound'; readonly index: number };

/** The capacity of a store. */
export interface StoreLimits {
  /** Objects and kept history together, as `StoreUsage` counts them. */
  readonly bytes: number;
  /** Additional bytes for writes that keep the cluster alive and for writes that make room. */
  readonly reserveBytes: number;
}

/**
 * The priority of a write when the store is full. `ordinary` is rejected; `releasing` (leads to a deletion) may use
 * half of the reserve; `system` (heartbeats, leases, status) may use all of it. A write that only deletes is never
 * rejected for lack of room.
 */
export type WriteRoom = 'ordinary' | 'releasing' | 'system';

export interface WriteOptions {
  /** Makes it safe to repeat this write. */
  readonly writeId?: string;
  /** Default: `ordinary`. */
  readonly room?: WriteRoom;
}

/**
 * The size of the content: for each object and each kept change its text and key in UTF-8, and a fixed overhead. It is
 * exact in every backend and unchanged by a restart. Redis: as of the last answer to this process.
 */
export interface StoreUsage {
  readonly objectBytes: number;
  readonly historyBytes: number;
  /** Absent means no limit. */
  readonly limits: StoreLimits | undefined;
}

export type ChangeKind = 'created' | 'updated' | 'deleted';

/** One committed change. `value` is the new state; for `deleted` it is the last state. */
export interface Change {
  readonly revision: Revision;
  readonly kind: ChangeKind;
  readonly key: StoreKey;
  readonly value: string;
  /** Revision of the object before this change; 0 for `created`. */
  readonly previousRevision: Revision;
  /** The id of the write that made this change; absent when the backend no longer has it. */
  readonly writeId?: string;
  /** State before this change; absent for `created`, and when the backend no longer has it. */
  readonly previousValue?: string;
}

export interface ListOptions {
  /** Maximum number of objects; absent means all. */
  readonly limit?: number;
  /** Return only keys after this one (exclusive). */
  readonly after?: StoreKey;
}

export interface ListPage {
  /** In ascending key order. */
  readonly objects: readonly StoredObject[];
  /** Revision of the snapshot of this page. */
  readonly revision: Revision;
  /** True when objects remain after the last one of this page. */
  readonly more: boolean;
}

export interface Store {
  /** Linearizable read of one object, with the global revision it was read at. */
  get(key: StoreKey): Promise<{ readonly revision: Revision; readonly object: StoredObject | undefined }>;
  /** Linearizable snapshot of all keys that start with `prefix`. */
  list(prefix: string, options?: ListOptions): Promise<ListPage>;
  /**
   * All or nothing, and durable before it resolves. At least one operation, each key at most once.
   *
   * `writeId` makes it safe to repeat a write: it is applied once. The store generates an id when it is absent. A
   * rejection is evaluated again on repetition, except for a write whose outcome was unknown: that rejection is
   * recorded, so that nothing of the earlier call is applied later. Only the process that made the earlier call knows
   * about it.
   *
   * Throws `StoreUnavailable`, `StoreFull` or `WriteTooLarge` (definitely not applied) or `OutcomeUnknown`.
   */
  write(operations: readonly WriteOperation[], options?: WriteOptions): Promise<WriteResult>;
  /**
   * Yields every change after `after`, in revision order without gaps or duplicates, then live changes until the signal
   * aborts (the iterator then ends without error). Arrays are never empty. Waits for a revision that does not exist
   * yet. Throws `Compacted` when `after` is below the kept history, also in the middle for a follower that fell behind,
   * and `StoreUnavailable` when the store closes.
   */
  changes(options: { readonly after: Revision; readonly signal: AbortSignal }): AsyncIterable<readonly Change[]>;
  /** Linearizable: at least as new as every write acknowledged before the call. */
  currentRevision(): Promise<Revision>;
  /** The lowest revision after which `changes` can resume. It only grows. */
  compactedRevision(): Promise<Revision>;
  /** The lineage that this process serves. It never changes while the store is open. */
  lineage(): Lineage;
  /**
   * Resolves with the id of the write that took this revision: two histories that differ at a revision have different
   * ids there. `undefined` for a revision that does not exist yet. Throws `Compacted` when the history no longer
   * contains it.
   */
  writeIdAt(revision: Revision): Promise<string | undefined>;
  /**
   * Rejects every read and write from now on, because the data have lost their guarantees. Where several processes
   * share the data, all of them halt. An operator ends the halt by adopting the data.
   */
  halt(reason: string): void;
  /** The reason of the halt; `undefined` while the store serves. */
  haltedBy(): string | undefined;
  /** Drops history up to and including `upTo`, at most up to the current revision. Objects stay. */
  compact(upTo: Revision): Promise<void>;
  usage(): StoreUsage;
  /** Empty when the store serves and is durable. Otherwise sentences about what is wrong. */
  health(): Promise<readonly string[]>;
  /**
   * Warnings about a store that serves: settings that can lose writes, too little room. Absent means that there are
   * never any.
   */
  readonly cautions?: () => readonly string[];
  /** Present when the store encrypts values. */
  readonly atRest?: SealedView;
  close(): Promise<void>;
}

/** A store that outlives its process. */
export interface DurableStore extends Store {
  /** Compacts history beyond the retention limits. The store also does this periodically by itself. */
  maintain(): Promise<void>;
}

/** The store cannot serve now. The requested write was definitely not applied. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
}

/** The data have lost their guarantees. The store serves nothing until an operator decides. */
export class StoreHalted extends StoreUnavailable {
  constructor(reason: string) {
    super(`the store is halted: ${reason}; ${HALT_NEXT_STEP}`);
  }
}

export const HALT_NEXT_STEP =
  'put the right data in place and restart the API servers, or accept the data as they are with `holdfast store adopt` (docs/recovery.md)';

/** The store has no room for the write. The write was definitely not applied. */
export class StoreFull extends Error {
  override readonly name = 'StoreFull';
  readonly limitBytes: number;
  readonly usedBytes: number;
  constructor(limitBytes: number, usedBytes: number) {
    super(`the store is full: ${usedBytes} of ${limitBytes} bytes are used`);
    this.limitBytes = limitBytes;
    this.usedBytes = usedBytes;
  }
}

/** No message of the store can hold the write. It was definitely not applied, and never will be. */
export class WriteTooLarge extends Error {
  override readonly name = 'WriteTooLarge';
}

/** The write was sent, but no definite answer came before the deadline. It may or may not have been applied. */
export class OutcomeUnknown extends Error {
  override readonly name = 'OutcomeUnknown';
  readonly writeId: string;
  constructor(writeId: string, options?: ErrorOptions) {
    super(`outcome of write ${writeId} is unknown`, options);
    this.writeId = writeId;
  }
}

/** History before `compactedRevision` is dropped. List again. */
export class Compacted extends Error {
  override readonly name = 'Compacted';
  readonly compactedRevision: Revision;
  constructor(compactedRevision: Revision) {
    super(`history up to revision ${compactedRevision} has been compacted`);
    this.compactedRevision = compactedRevision;
  }
}
