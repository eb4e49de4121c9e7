import { createHash } from 'node:crypto';
import { invariant } from '@holdfast/platform';
import { sizeOfChange } from '../internal/change-size.ts';
import { ObjectTable } from '../internal/object-table.ts';
import { committed, evaluate } from '../internal/operations.ts';
import { historyRoom, leastHistory, refusedForRoom } from '../internal/room.ts';
import { HISTORY_MAX_BYTES, LOG_DIGESTS_KEPT, LOG_SESSIONS_MAX } from '../limits.ts';
import { type Change, type Revision, StoreFull, type StoreLimits, type WriteResult } from '../port.ts';
import { type Claim, type Command, decodeEntry, type Entry, type LoggedWrite } from './entry.ts';
import { HistorySizes } from './history-sizes.ts';
import { WriteIds } from './write-ids.ts';

/** Only the state machine makes one: an answer to a client can be derived only from an entry that was applied (I9). */
export interface Decided {
  readonly [FROM_THE_LOG]: true;
  readonly answer: WriteResult | StoreFull | 'halted';
}
declare const FROM_THE_LOG: unique symbol;

export interface Applied {
  readonly entry: Entry;
  /** `false`: a repetition, an entry that its session has overtaken, or one of a session that is not known. */
  readonly effective: boolean;
  /** The session of the entry is not known: its process has to open another one. */
  readonly isStranger: boolean;
  /** One for each write of an effective entry. */
  readonly decided: readonly Decided[];
  readonly changes: readonly Change[];
  /**
   * How the proposer's claim compares with this machine. `unknown`: too old to be compared. `ahead`: the proposer has
   * seen more of the log than there is.
   */
  readonly claim: 'agrees' | 'differs' | 'ahead' | 'unknown';
}

/** What a snapshot contains. */
export interface MachineState {
  readonly position: number;
  readonly digest: string;
  readonly compacted: Revision;
  readonly halted: string | undefined;
  readonly table: ObjectTable;
  readonly writeIds: WriteIds;
  readonly sizes: HistorySizes;
  /** The last number of each session, least recently heard first. */
  readonly sessions: Map<string, number>;
  /**
   * Where a session was forgotten last. What opens a session has to come from a process that had read as far: a late
   * repetition of a forgotten one's beginning does not, so the session never begins again.
   */
  readonly forgottenAt: number;
}

export function emptyState(): MachineState {
  return {
    position: 0,
    digest: '',
    compacted: 0,
    halted: undefined,
    table: new ObjectTable(),
    writeIds: new WriteIds(),
    sizes: new HistorySizes(),
    sessions: new Map(),
    forgottenAt: 0,
  };
}

/**
 * Decides and applies the entries of a log, one after the other. The same entries at the same sequences lead to the
 * same state and the same answers in every process: there is no clock, no chance and no setting of the process in it.
 */
export class StateMachine {
  readonly #table: ObjectTable;
  readonly #writeIds: WriteIds;
  readonly #sizes: HistorySizes;
  readonly #sessions: Map<string, number>;
  readonly #digests = new Map<number, string>();
  #forgottenAt: number;
  #position: number;
  #digest: string;
  #compacted: Revision;
  #halted: string | undefined;

  constructor(state: MachineState = emptyState()) {
    this.#table = state.table;
    this.#writeIds = state.writeIds;
    this.#sizes = state.sizes;
    this.#sessions = state.sessions;
    this.#forgottenAt = state.forgottenAt;
    this.#position = state.position;
    this.#digest = state.digest;
    this.#compacted = state.compacted;
    this.#halted = state.halted;
    this.#digests.set(state.position, state.digest);
  }

  get table(): ObjectTable {
    return this.#table;
  }

  get position(): number {
    return this.#position;
  }

  get compacted(): Revision {
    return this.#compacted;
  }

  get halted(): string | undefined {
    return this.#halted;
  }

  /** What an entry says about the state that its proposer saw. */
  get claim(): Claim {
    return { sequence: this.#position, digest: this.#digest };
  }

  /** A view of the state: take what is needed before the next entry is applied. */
  get state(): MachineState {
    return {
      position: this.#position,
      digest: this.#digest,
      compacted: this.#compacted,
      halted: this.#halted,
      table: this.#table,
      writeIds: this.#writeIds,
      sizes: this.#sizes,
      sessions: this.#sessions,
      forgottenAt: this.#forgottenAt,
    };
  }

  /** Throws an `InvariantViolation` when the log breaks its promise, and `ForeignEntry` for another format. */
  apply(sequence: number, payload: Buffer): Applied {
    invariant(sequence === this.#position + 1, 'the log has no gap', { sequence, position: this.#position });
    const entry = decodeEntry(payload);
    const claim = this.#compare(entry.claim);
    const admission = this.#admit(sequence, entry);
    const before = this.#table.revision;
    const changes: Change[] = [];
    const decided = admission === 'effective' ? this.#carryOut(entry, changes) : [];
    invariant(this.#table.revision === before + changes.length, 'every change takes the next revision');
    this.#advance(sequence, payload, `${admission} ${decided.map(outcomeOf).join()}`);
    return {
      entry,
      effective: admission === 'effective',
      isStranger: admission === 'stranger',
      decided,
      changes,
      claim,
    };
  }

  #admit(sequence: number, entry: Entry): 'effective' | 'repeated' | 'stranger' {
    const { session, number, command } = entry;
    const last = this.#sessions.get(session);
    // A halt needs no session: it is carried out once however often it stands in the log.
    if (last === undefined && command?.kind === 'halt') return 'effective';
    if (last === undefined && !this.#mayOpen(entry)) return 'stranger';
    if (last !== undefined && number <= last) return 'repeated';
    this.#sessions.delete(session);
    this.#sessions.set(session, number);
    for (const oldest of this.#sessions.keys()) {
      if (this.#sessions.size <= LOG_SESSIONS_MAX) break;
      this.#sessions.delete(oldest);
      this.#forgottenAt = sequence;
    }
    return 'effective';
  }

  #mayOpen({ command, claim }: Entry): boolean {
    return command?.kind === 'open' && (claim?.sequence ?? 0) >= this.#forgottenAt;
  }

  #carryOut(entry: Entry, changes: Change[]): readonly Decided[] {
    if (entry.command !== undefined) this.#obey(entry.command);
    const decided = entry.writes.map((write) => decidedAs(this.#decide(write, entry.limits, changes)));
    this.#dropHistoryTo(historyRoom(entry.limits, this.#table.bytes, HISTORY_MAX_BYTES));
    return decided;
  }

  #obey(command: Command): void {
    switch (command.kind) {
      case 'open':
        return;
      case 'halt':
        this.#halted ??= command.reason;
        return;
      case 'compact':
        while (this.#compacted < Math.min(command.upTo, this.#table.revision)) this.#dropOldest();
    }
  }

  #decide(write: LoggedWrite, limits: StoreLimits | undefined, changes: Change[]): Decided['answer'] {
    if (this.#halted !== undefined) return 'halted';
    const earlier = this.#writeIds.get(write.id);
    if (earlier !== undefined) return earlier;
    const proposal = { operations: write.operations, writeId: write.id };
    const evaluation = evaluate(this.#table.get, this.#table.revision, proposal);
    if (evaluation.kind === 'refused') return evaluation.result;
    const full = this.#makeRoom(limits, write, evaluation.changes);
    if (full !== undefined) return full;
    const result = committed(evaluation.changes);
    this.#table.apply(evaluation.changes);
    this.#writeIds.remember(write.id, result);
    for (const change of evaluation.changes) {
      this.#sizes.push(sizeOfChange(change));
      changes.push(change);
    }
    return result;
  }

  /** Drops history first. Returns the reason of a refusal when that is not enough. */
  #makeRoom(limits: StoreLimits | undefined, { room }: LoggedWrite, changes: readonly Change[]): StoreFull | undefined {
    if (limits === undefined || refusedForRoom(limits, this.#total, { changes, room }) === undefined) return undefined;
    this.#dropHistoryTo(leastHistory(limits));
    return refusedForRoom(limits, this.#total, { changes, room });
  }

  get #total(): number {
    return this.#table.bytes + this.#sizes.total;
  }

  #dropHistoryTo(bytes: number): void {
    while (this.#sizes.total > bytes && this.#sizes.count > 0) this.#dropOldest();
  }

  /** Invariant I11: the compacted revision only grows, and never beyond the current one. */
  #dropOldest(): void {
    this.#sizes.dropOldest();
    this.#compacted += 1;
    invariant(this.#compacted <= this.#table.revision, 'history is compacted up to the current revision at most');
  }

  #compare(claim: Claim | undefined): Applied['claim'] {
    if (claim === undefined) return 'unknown';
    if (claim.sequence > this.#position) return 'ahead';
    const own = this.#digests.get(claim.sequence);
    if (own === undefined) return 'unknown';
    return own === claim.digest ? 'agrees' : 'differs';
  }

  /** The digest covers every message so far, its place, and what this machine made of it. */
  #advance(sequence: number, payload: Buffer, outcome: string): void {
    const summary = `${this.#digest} ${sequence} ${this.#table.revision} ${this.#table.bytes} ${this.#compacted} ${outcome}\n`;
    this.#digest = createHash('sha256').update(summary).update(payload).digest('base64url').slice(0, DIGEST_CHARACTERS);
    this.#position = sequence;
    this.#digests.set(sequence, this.#digest);
    this.#digests.delete(sequence - LOG_DIGESTS_KEPT);
  }
}

/** 144 bits: two states with one digest do not happen by chance. */
const DIGEST_CHARACTERS = 24;

function outcomeOf({ answer }: Decided): string {
  if (answer === 'halted') return 'h';
  if (answer instanceof StoreFull) return 'f';
  return answer.outcome === 'committed' ? `c${answer.firstRevision}` : `${answer.outcome}${answer.index}`;
}

/** The one place where an answer gets its mark. */
function decidedAs(answer: Decided['answer']): Decided {
  const decided: Omit<Decided, typeof FROM_THE_LOG> = { answer };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the mark exists only for the compiler
  return decided as Decided;
}
