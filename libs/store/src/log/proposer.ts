import { type Clock, type Ids, nextTurn, type Timer } from '@holdfast/platform';
import {
  LOG_BARRIER_DEADLINE_MS,
  LOG_CHARACTERS_TOGETHER,
  LOG_CHARACTERS_WAITING,
  LOG_ENTRIES_IN_FLIGHT,
  LOG_RESEND_AFTER_MS,
  LOG_RESEND_REFUSED_MS,
  LOG_STALLED_AFTER_MS,
  LOG_TICK_MS,
  LOG_WRITE_DEADLINE_MS,
  LOG_WRITES_TOGETHER,
  LOG_WRITES_WAITING,
} from '../limits.ts';
import {
  OutcomeUnknown,
  StoreFull,
  StoreHalted,
  type StoreLimits,
  StoreUnavailable,
  type WriteResult,
  WriteTooLarge,
} from '../port.ts';
import { type Claim, type Command, encodeEntry, type LoggedWrite } from './entry.ts';
import type { Applied, Decided } from './state-machine.ts';

export interface ProposerDeps {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly limits: StoreLimits | undefined;
  readonly writeDeadlineMs?: number;
  readonly claim: () => Claim;
  /** Sends a message to the log if there is a connection. Whether it arrived is seen in the log. */
  readonly publish: (message: Proposed) => void;
  /** The largest payload that the server takes; `undefined` while there is no connection. */
  readonly payloadMax: () => number | undefined;
  readonly haltedBy: () => string | undefined;
  /** Entries are under way, and none has come back for long. Called again and again until one does. */
  readonly onStalled: () => void;
}

export interface Proposed {
  readonly session: string;
  readonly number: number;
  readonly payload: Buffer;
}

interface Waiting {
  readonly write: LoggedWrite;
  readonly characters: number;
  readonly overdueAt: number;
  /** It was part of a message that was sent. */
  isSent: boolean;
  readonly resolve: (result: WriteResult) => void;
  readonly reject: (error: Error) => void;
}

interface Barrier {
  readonly overdueAt: number;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

interface InFlightEntry {
  readonly message: Proposed;
  readonly writes: readonly Waiting[];
  readonly barriers: Barrier[];
  readonly command: Command | undefined;
  sentAt: number;
}

/**
 * Turns writes and barriers of this process into entries of the log, and entries that come back into answers.
 *
 * Each entry has the next number of the session. It is sent again, unchanged, until it comes back or a later one does:
 * no state machine carries out an entry behind a later one of its session, so from then on it is definitely without
 * effect, and its writes go into a new entry. An entry whose callers have given up needs no more care for the same
 * reason: whatever this process proposes later has a higher number.
 */
export class Proposer {
  readonly #deps: ProposerDeps;
  readonly #inFlight = new Map<number, InFlightEntry>();
  readonly #queue: Waiting[] = [];
  #barriers: Barrier[] = [];
  #commands: Command[] = [{ kind: 'open' }];
  #session: string;
  #nextNumber = 1;
  #waitingSince: number | undefined;
  #isFlushing = false;
  /** Text of the writes that have no answer yet. */
  #characters = 0;
  #timer: Timer | undefined;
  /** What was sent last was not taken: nobody leads the log. */
  #isRefused = false;
  #closed: StoreUnavailable | undefined;

  constructor(deps: ProposerDeps) {
    this.#deps = deps;
    this.#session = deps.ids.uuid();
  }

  get session(): string {
    return this.#session;
  }

  /** How long entries have been under way since the last one came back. */
  stalledForMs(): number {
    return this.#waitingSince === undefined ? 0 : this.#deps.clock.monotonic() - this.#waitingSince;
  }

  write(write: LoggedWrite): Promise<WriteResult> {
    const characters = write.operations.reduce((sum, { value, key }) => sum + value.length + key.length, 0);
    const refusal = this.#closed ?? this.#refusal(characters);
    if (refusal !== undefined) return Promise.reject(refusal);
    const { clock, writeDeadlineMs = LOG_WRITE_DEADLINE_MS } = this.#deps;
    this.#characters += characters;
    return new Promise((resolve, reject) => {
      const overdueAt = clock.monotonic() + writeDeadlineMs;
      const settled = { resolve: this.#freeing(characters, resolve), reject: this.#freeing(characters, reject) };
      this.#queue.push({ write, characters, overdueAt, isSent: false, ...settled });
      this.#flushSoon();
    });
  }

  /** Resolves when this process has applied everything that the log held when this was called. */
  barrier(): Promise<void> {
    if (this.#closed !== undefined) return Promise.reject(this.#closed);
    return new Promise((resolve, reject) => {
      const overdueAt = this.#deps.clock.monotonic() + LOG_BARRIER_DEADLINE_MS;
      this.#barriers.push({ overdueAt, resolve, reject });
      this.#flushSoon();
    });
  }

  /** Resolves when the command has been carried out here. */
  command(command: Command): Promise<void> {
    if (this.#closed !== undefined) return Promise.reject(this.#closed);
    this.#commands.push(command);
    return this.barrier();
  }

  /** A new connection: everything under way may have been lost with the old one. */
  resendAll(): void {
    for (const entry of this.#inFlight.values()) this.#send(entry);
    this.#flushSoon();
  }

  /** The log has no leader at the moment. It has one soon, and nobody says so. */
  onRefused(): void {
    this.#isRefused = true;
  }

  /** An entry was applied. Settles what it decides. */
  onApplied({ entry: { session, number }, effective, isStranger, decided }: Applied): void {
    if (session !== this.#session) return;
    if (isStranger) this.#beginSession();
    if (!effective) return;
    const entry = this.#inFlight.get(number);
    this.#inFlight.delete(number);
    for (const [index, waiting] of (entry?.writes ?? []).entries()) this.#settle(waiting, decided[index]);
    for (const barrier of entry?.barriers ?? []) barrier.resolve();
    this.#reviveBefore(number);
    this.#waitingSince = this.#inFlight.size === 0 ? undefined : this.#deps.clock.monotonic();
    this.#flushSoon();
  }

  /** A part of the log was not seen, and what is under way may have had its effect there. */
  onSkipped(): void {
    for (const [number, entry] of this.#inFlight) this.#abandon(number, entry);
    this.#flushSoon();
  }

  close(error: StoreUnavailable): void {
    this.#closed ??= error;
    this.#timer?.cancel();
    this.#timer = undefined;
    const entries = [...this.#inFlight.values()];
    this.#inFlight.clear();
    for (const waiting of [...entries.flatMap((entry) => entry.writes), ...this.#queue.splice(0)])
      waiting.reject(waiting.isSent ? new OutcomeUnknown(waiting.write.id, { cause: error }) : error);
    for (const barrier of [...entries.flatMap((entry) => entry.barriers), ...this.#barriers.splice(0)])
      barrier.reject(error);
  }

  /** Each write is settled once. */
  #freeing<T>(characters: number, settle: (value: T) => void): (value: T) => void {
    return (value) => {
      this.#characters -= characters;
      settle(value);
    };
  }

  #refusal(characters: number): StoreUnavailable | undefined {
    if (this.stalledForMs() > LOG_STALLED_AFTER_MS)
      return new StoreUnavailable('the log commits nothing at the moment: no majority of the NATS servers answers');
    const waiting = this.#queue.length + this.#inFlight.size * LOG_WRITES_TOGETHER;
    const isFull = this.#characters > 0 && this.#characters + characters > LOG_CHARACTERS_WAITING;
    return waiting >= LOG_WRITES_WAITING || isFull ? new StoreUnavailable('too many writes are waiting') : undefined;
  }

  /** Once per turn of the event loop, so that the writes of one turn share an entry. */
  #flushSoon(): void {
    if (this.#isFlushing || this.#closed !== undefined) return;
    this.#isFlushing = true;
    void nextTurn().then(() => {
      this.#isFlushing = false;
      this.#flush();
    });
  }

  #flush(): void {
    if (this.#closed !== undefined) return;
    while (this.#inFlight.size < LOG_ENTRIES_IN_FLIGHT && this.#hasWork()) this.#propose();
    if (this.#inFlight.size > 0 || this.#queue.length > 0 || this.#barriers.length > 0) this.#tickLater();
  }

  #hasWork(): boolean {
    if (this.#queue.length > 0 || this.#commands.length > 0) return true;
    // A barrier alone waits for the one that is under way, so that many readers cost one entry at a time.
    const isIdle = [...this.#inFlight.values()].every(
      ({ writes, barriers }) => writes.length > 0 || barriers.length === 0,
    );
    return this.#barriers.length > 0 && isIdle;
  }

  #propose(): void {
    const number = this.#nextNumber;
    const command = this.#commands.shift();
    // What opens a session may arrive again when the session has been forgotten: it carries nothing that could happen twice.
    const writes = command?.kind === 'open' ? [] : this.#takeWrites();
    const { limits } = this.#deps;
    const session = this.#session;
    const claim = this.#deps.claim();
    const entry = { session, number, claim, limits, command, writes: writes.map(({ write }) => write) };
    const payload = encodeEntry(entry);
    if (writes.length > 0 && payload.length > (this.#deps.payloadMax() ?? Number.POSITIVE_INFINITY)) {
      this.#refuseTooLarge(writes, payload.length);
      if (command !== undefined) this.#commands.unshift(command);
      return;
    }
    this.#nextNumber += 1;
    const now = this.#deps.clock.monotonic();
    const barriers = this.#barriers;
    this.#barriers = [];
    this.#waitingSince ??= now;
    const inFlight = { message: { session, number, payload }, writes, barriers, command, sentAt: now };
    this.#inFlight.set(number, inFlight);
    this.#send(inFlight);
  }

  #takeWrites(): readonly Waiting[] {
    const taken: Waiting[] = [];
    let characters = 0;
    for (const waiting of this.#queue) {
      characters += waiting.characters;
      if (taken.length > 0 && (taken.length >= LOG_WRITES_TOGETHER || characters > LOG_CHARACTERS_TOGETHER)) break;
      taken.push(waiting);
    }
    this.#queue.splice(0, taken.length);
    return taken;
  }

  /** Several writes are too large together: each goes alone. One that is too large by itself was never sent. */
  #refuseTooLarge(writes: readonly Waiting[], bytes: number): void {
    const [only, ...others] = writes;
    if (only === undefined) return;
    if (others.length > 0) {
      this.#queue.unshift(...others);
      this.#queue.unshift({ ...only, characters: LOG_CHARACTERS_TOGETHER });
      for (const [index, other] of others.entries())
        this.#queue[index + 1] = { ...other, characters: LOG_CHARACTERS_TOGETHER };
      return;
    }
    const reason = `a write of ${bytes} bytes is larger than a message of the NATS servers may be (max_payload)`;
    only.reject(only.isSent ? new OutcomeUnknown(only.write.id) : new WriteTooLarge(reason));
  }

  #send(entry: InFlightEntry): void {
    entry.sentAt = this.#deps.clock.monotonic();
    for (const waiting of entry.writes) waiting.isSent = true;
    this.#deps.publish(entry.message);
  }

  #settle({ resolve, reject, write }: Waiting, decided: Decided | undefined): void {
    const answer = decided?.answer;
    if (answer === undefined) reject(new OutcomeUnknown(write.id));
    else if (answer === 'halted') reject(new StoreHalted(this.#deps.haltedBy() ?? 'halted'));
    else if (answer instanceof StoreFull) reject(answer);
    else resolve(answer);
  }

  /** Entries before an effective one that have not come back are dead: what they contained is proposed again. */
  #reviveBefore(number: number): void {
    for (const [earlier, entry] of [...this.#inFlight].toReversed()) {
      if (earlier > number) continue;
      this.#inFlight.delete(earlier);
      for (const waiting of entry.writes) waiting.isSent = false;
      this.#revive(entry);
    }
  }

  #revive({ writes, barriers, command }: InFlightEntry): void {
    this.#queue.unshift(...writes);
    this.#barriers.push(...barriers);
    if (command !== undefined && command.kind !== 'open') this.#commands.unshift(command);
  }

  /**
   * The log does not know this session. It has forgotten it, or what opens it comes late: then entries that were sent can still have
   * their effect, and their writes count as sent until the new session has carried them out.
   */
  #beginSession(): void {
    const entries = [...this.#inFlight.values()].toReversed();
    this.#inFlight.clear();
    this.#session = this.#deps.ids.uuid();
    this.#nextNumber = 1;
    for (const entry of entries) this.#revive(entry);
    this.#commands.unshift({ kind: 'open' });
    this.#flushSoon();
  }

  #tickLater(): void {
    this.#timer ??= this.#deps.clock.timer(LOG_TICK_MS, () => {
      this.#timer = undefined;
      this.#giveUpOverdue();
      this.#resendOverdue();
      if (this.stalledForMs() > LOG_STALLED_AFTER_MS) this.#deps.onStalled();
      this.#flush();
    });
  }

  #resendOverdue(): void {
    const now = this.#deps.clock.monotonic();
    const oldest = this.#inFlight.values().next().value;
    const afterMs = this.#isRefused ? LOG_RESEND_REFUSED_MS : LOG_RESEND_AFTER_MS;
    if (oldest === undefined || now - oldest.sentAt < afterMs) return;
    this.#isRefused = false;
    for (const entry of this.#inFlight.values()) this.#send(entry);
  }

  #giveUpOverdue(): void {
    const now = this.#deps.clock.monotonic();
    const isOverdue = ({ overdueAt }: { readonly overdueAt: number }): boolean => overdueAt <= now;
    for (const waiting of takeOut(this.#queue, isOverdue))
      waiting.reject(waiting.isSent ? new OutcomeUnknown(waiting.write.id) : noCommit());
    for (const barrier of takeOut(this.#barriers, isOverdue)) barrier.reject(noCommit());
    for (const [number, entry] of this.#inFlight) {
      for (const barrier of takeOut(entry.barriers, isOverdue)) barrier.reject(noCommit());
      if (entry.writes.length > 0 && entry.writes.every(isOverdue)) this.#abandon(number, entry);
    }
  }

  /** The entry that replaces it notices when the log commits again, and keeps this one from a late effect. */
  #abandon(number: number, entry: InFlightEntry): void {
    this.#inFlight.delete(number);
    for (const { reject, write } of entry.writes) reject(new OutcomeUnknown(write.id));
    this.#barriers.push(...entry.barriers, NOBODY);
    if (entry.command !== undefined) this.#commands.unshift(entry.command);
  }
}

const NOBODY: Barrier = { overdueAt: Number.POSITIVE_INFINITY, resolve: () => undefined, reject: () => undefined };

const noCommit = (): StoreUnavailable => new StoreUnavailable('the log did not commit in time');

/** Removes the items that match, and returns them. */
function takeOut<T>(items: T[], matches: (item: T) => boolean): readonly T[] {
  const taken = items.filter(matches);
  if (taken.length > 0) items.splice(0, items.length, ...items.filter((item) => !matches(item)));
  return taken;
}
