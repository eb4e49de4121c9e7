import type { ObjectTable } from '../internal/object-table.ts';
import { type Committed, committed, evaluate, objectAfter } from '../internal/operations.ts';
import type { RecentWrites } from '../internal/recent-writes.ts';
import { growthOf, refusedForRoom } from '../internal/room.ts';
import { SQLITE_COMMIT_CHANGES, SQLITE_COMMIT_CHARACTERS } from '../limits.ts';
import {
  type Change,
  type StoredObject,
  StoreFull,
  type StoreKey,
  type StoreLimits,
  type WriteOperation,
  type WriteResult,
  type WriteRoom,
} from '../port.ts';
import type { ChangeRow } from './protocol.ts';

export interface QueuedWrite {
  readonly operations: readonly WriteOperation[];
  readonly writeId: string | undefined;
  readonly room: WriteRoom;
  readonly resolve: (result: WriteResult) => void;
  readonly reject: (error: Error) => void;
}

/** Writes that were evaluated one after the other. They become durable together and are answered after that. */
export interface CommitGroup {
  readonly answers: readonly { readonly write: QueuedWrite; readonly result: WriteResult | StoreFull }[];
  readonly changes: readonly Change[];
  readonly rows: readonly ChangeRow[];
  /** Results to remember under their write ids. */
  readonly written: ReadonlyMap<string, Committed>;
}

/** The state on which the writes of a group are evaluated. */
export interface CommittedState {
  readonly table: ObjectTable;
  readonly recent: RecentWrites;
  readonly ownIds: OwnWriteIds;
  readonly historyBytes: number;
  readonly limits: StoreLimits | undefined;
}

/**
 * Takes writes from the front of the queue and evaluates each on the state that the earlier ones leave. A rejection
 * also waits for the commit, because it may depend on a write that is not durable yet.
 */
export function takeGroup(queue: QueuedWrite[], state: CommittedState): CommitGroup {
  const group = new GroupBuilder(state);
  let taken = 0;
  for (const write of queue) {
    if (group.isFull) break;
    group.add(write);
    taken += 1;
  }
  queue.splice(0, taken);
  return group;
}

/** Ids of writes whose caller gave none. Nobody can repeat those; the ids only distinguish histories. */
export class OwnWriteIds {
  readonly #run: string;
  #written = 0;

  constructor(run: string) {
    this.#run = run;
  }

  next(): string {
    return `${OWN_ID_MARK}${this.#run}.${this.#written++}`;
  }
}

const OWN_ID_MARK = '~';

export const isOwnWriteId = (writeId: string): boolean => writeId.startsWith(OWN_ID_MARK);

class GroupBuilder implements CommitGroup {
  readonly answers: { write: QueuedWrite; result: WriteResult | StoreFull }[] = [];
  readonly changes: Change[] = [];
  readonly rows: ChangeRow[] = [];
  readonly written = new Map<string, Committed>();
  readonly #table: ObjectTable;
  readonly #recent: RecentWrites;
  readonly #limits: StoreLimits | undefined;
  /** Size of the store, including this group. */
  #total: number;
  /** The effect of this group's writes on objects; a key with `undefined` is deleted. */
  readonly #overlay = new Map<StoreKey, StoredObject | undefined>();
  readonly #ownIds: OwnWriteIds;
  #characters = 0;

  constructor({ table, recent, ownIds, historyBytes, limits }: CommittedState) {
    this.#table = table;
    this.#recent = recent;
    this.#ownIds = ownIds;
    this.#limits = limits;
    this.#total = table.bytes + historyBytes;
  }

  get isFull(): boolean {
    return this.changes.length >= SQLITE_COMMIT_CHANGES || this.#characters >= SQLITE_COMMIT_CHARACTERS;
  }

  add(write: QueuedWrite): void {
    this.answers.push({ write, result: this.#earlier(write.writeId) ?? this.#judge(write) });
  }

  #earlier(writeId: string | undefined): WriteResult | undefined {
    return writeId === undefined ? undefined : (this.written.get(writeId) ?? this.#recent.get(writeId));
  }

  #judge({ operations, writeId, room }: QueuedWrite): WriteResult | StoreFull {
    const storedId = writeId ?? this.#ownIds.next();
    const proposal = { operations, writeId: storedId };
    const evaluation = evaluate(this.#lookup, this.#table.revision + this.changes.length, proposal);
    if (evaluation.kind === 'refused') return evaluation.result;
    const full = refusedForRoom(this.#limits, this.#total, { changes: evaluation.changes, room });
    if (full !== undefined) return full;
    if (this.#limits !== undefined) {
      const { objects, history } = growthOf(evaluation.changes);
      this.#total += objects + history;
    }
    for (const change of evaluation.changes) this.#stage(change, storedId);
    const result = committed(evaluation.changes);
    if (writeId !== undefined) this.written.set(writeId, result);
    return result;
  }

  #stage(change: Change, writeId: string): void {
    const { revision, kind, key, value, previousRevision } = change;
    const current = this.#lookup(key);
    const next = objectAfter(change, current);
    const createRevision = next?.createRevision ?? current?.createRevision ?? 0;
    this.#overlay.set(key, next);
    this.changes.push(change);
    this.rows.push({ revision, kind, key, value, previousRevision, createRevision, writeId });
    this.#characters += value.length;
  }

  readonly #lookup = (key: StoreKey): StoredObject | undefined =>
    this.#overlay.has(key) ? this.#overlay.get(key) : this.#table.get(key);
}
