/**
 * The store: the only truth. One global revision; every object change is a compare-and-swap and takes the next number.
 * Backends (memory, sqlite, redis) pass the same contract tests (`@holdfast/store/contract`).
 */

import type { SealedView } from './sealed-store.ts';

/** Position in the one global order of changes. Starts at 1 with the first change; 0 means "before everything". */
export type Revision = number;

/** `<group>/<resource>/<namespace or ->/<name>`; the core group is written `core`. See `keys.ts`. */
export type StoreKey = string;

/**
 * Names one history. Within a lineage a revision means one change for ever. Data that went back to an earlier state continue
 * only under the next epoch, which an operator begins (`holdfast store adopt`).
 */
export interface Lineage {
  /** Made with the store. Secret: it signs what clients are told about the history. */
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
      /** Last state of the object, carried by the DELETED change. */
      readonly value: string;
      readonly expectedRevision: Revision;
    };

export type WriteResult =
  /** All operations are durable; the n-th took revision `firstRevision + n`. */
  | { readonly outcome: 'committed'; readonly firstRevision: Revision; readonly lastRevision: Revision }
  /** Nothing was written: operation `index` met another revision (`exists`/`notFound` have their own outcome). */
  | { readonly outcome: 'conflict'; readonly index: number; readonly currentRevision: Revision }
  | { readonly outcome: 'exists'; readonly index: number; readonly currentRevision: Revision }
  | { readonly outcome: 'notFound'; readonly index: number };

/** How much a store may hold. */
export interface StoreLimits {
  /** Objects and kept history together, as `StoreUsage` counts them. */
  readonly bytes: number;
  /** Beyond it: for writes that keep the cluster alive, and those that make room. */
  readonly reserveBytes: number;
}

/**
 * For whom a write asks when the store is full. `ordinary` is refused then; `releasing` (what leads to a deletion) may use half of the
 * reserve, `system` (heartbeats, leases, status) all of it. What only deletes is never refused for lack of room.
 */
export type WriteRoom = 'ordinary' | 'releasing' | 'system';

export interface WriteOptions {
  /** Makes a repeated attempt of the same write safe. */
  readonly writeId?: string;
  /** Default: `ordinary`. */
  readonly room?: WriteRoom;
}

/**
 * How much the store holds: for each object and each change of the kept history its text and key in UTF-8, and a fixed overhead. Exact
 * in every backend, and the same after a restart. Redis: as of the last answer to this process.
 */
export interface StoreUsage {
  readonly objectBytes: number;
  readonly historyBytes: number;
  /** Absent: nothing bounds it. */
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
  /** Of the write that made this change; absent where the backend no longer has it. */
  readonly writeId?: string;
  /** State before this change; absent for `created`, and where the backend no longer has it. */
  readonly previousValue?: string;
}

export interface ListOptions {
  /** At most this many objects; absent = all. */
  readonly limit?: number;
  /** Return only keys after this one (exclusive). */
  readonly after?: StoreKey;
}

export interface ListPage {
  /** In ascending key order. */
  readonly objects: readonly StoredObject[];
  /** Revision of the snapshot this page was read from. */
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
   * All or nothing, durable before it resolves. At least one operation, each key at most once. `writeId` makes a repeated
   * attempt of the same write safe: it is applied once. A repeated refusal is judged afresh, but not that of a write
   * whose outcome was unknown: it is kept, so that nothing of the earlier call is applied later. Only the process that made the earlier call
   * knows of it. The store invents an id when absent. Throws `StoreUnavailable` or `StoreFull` (definitely not applied) or `OutcomeUnknown`.
   */
  write(operations: readonly WriteOperation[], options?: WriteOptions): Promise<WriteResult>;
  /**
   * Every change after `after`, in revision order without gap or double, then follows until the signal aborts (the
   * iterator then ends without error). Arrays are never empty. Throws `Compacted` when `after` is below the kept history,
   * also in the middle for a follower that was left behind, and `StoreUnavailable` when the store is closed under it.
   * A revision still to come is waited for.
   */
  changes(options: { readonly after: Revision; readonly signal: AbortSignal }): AsyncIterable<readonly Change[]>;
  /** Linearizable: at least as new as every write acknowledged before the call. */
  currentRevision(): Promise<Revision>;
  /** The lowest revision `changes` can resume after. Only grows. */
  compactedRevision(): Promise<Revision>;
  /** The lineage that this process serves; it never changes while the store is open. */
  lineage(): Lineage;
  /**
   * The id of the write that took this revision: two histories that differ at a revision differ in it. `undefined` for a revision
   * still to come. Throws `Compacted` when the history no longer tells.
   */
  writeIdAt(revision: Revision): Promise<string | undefined>;
  /**
   * Refuses every read and write from now on, because the data are not what was promised. Where several processes share the
   * data, all of them refuse. Ends when an operator has adopted the data.
   */
  halt(reason: string): void;
  /** Why the store is halted; `undefined` while it is not. */
  haltedBy(): string | undefined;
  /** Drops history up to and including `upTo`, at most up to the current revision. Objects stay. */
  compact(upTo: Revision): Promise<void>;
  usage(): StoreUsage;
  /** Empty when the store serves and is durable; else sentences on what is wrong. */
  health(): Promise<readonly string[]>;
  /** What everybody should see although the store serves: settings that lose writes, too little room. Absent = nothing ever. */
  readonly cautions?: () => readonly string[];
  /** Present: values are sealed in the store. */
  readonly atRest?: SealedView;
  close(): Promise<void>;
}

/** A store that outlives its process. */
export interface DurableStore extends Store {
  /** Compacts what the retention limits no longer keep. The store does this by itself from time to time. */
  maintain(): Promise<void>;
}

/** The store cannot serve now. The write it was asked for was definitely not applied. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
}

/** The data are not what was promised: nothing is served until an operator has decided. */
export class StoreHalted extends StoreUnavailable {
  constructor(reason: string) {
    super(`the store is halted: ${reason}; ${HALT_NEXT_STEP}`);
  }
}

export const HALT_NEXT_STEP =
  'put the right data in place and restart the API servers, or accept the data as they are with `holdfast store adopt` (docs/recovery.md)';

/** The store has no room for the write, which was definitely not applied. */
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

/** The write was sent and no definite answer came before the deadline: it may or may not have been applied. */
export class OutcomeUnknown extends Error {
  override readonly name = 'OutcomeUnknown';
  readonly writeId: string;
  constructor(writeId: string, options?: ErrorOptions) {
    super(`outcome of write ${writeId} is unknown`, options);
    this.writeId = writeId;
  }
}

/** History before `compactedRevision` is gone; list again. */
export class Compacted extends Error {
  override readonly name = 'Compacted';
  readonly compactedRevision: Revision;
  constructor(compactedRevision: Revision) {
    super(`history up to revision ${compactedRevision} has been compacted`);
    this.compactedRevision = compactedRevision;
  }
}
