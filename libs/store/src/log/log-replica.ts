import { describeError, invariant, OperatorError } from '@holdfast/platform';
import type { NatsConnection } from 'nats';
import { ChangeFeed } from '../internal/change-feed.ts';
import {
  LOG_INCOMPLETE_READINGS,
  LOG_MOVE_ON_AFTER_MS,
  LOG_RESEND_AFTER_MS,
  LOG_RETRY_FIRST_MS,
  LOG_RETRY_LONGEST_MS,
  LOG_STALLED_AFTER_MS,
  LOG_START_TIMEOUT_MS,
  LOG_TICK_MS,
} from '../limits.ts';
import { type Lineage, type Revision, StoreHalted, StoreUnavailable, type WriteResult } from '../port.ts';
import { type Command, encodeEntry, type LoggedWrite } from './entry.ts';
import { store, streamInfo } from './jetstream.ts';
import { type CurrentLog, type LogNames, logNames } from './layout.ts';
import { type Dial, LogLink } from './link.ts';
import type { LogStoreOptions } from './log-store.ts';
import { incompleteError, unreachableError } from './open-errors.ts';
import { openLog } from './open-log.ts';
import { Proposer } from './proposer.ts';
import { Publications } from './publications.ts';
import { SnapshotTaker } from './snapshot-taker.ts';
import { IncompleteLog, loadSnapshot, type SnapshotPlace } from './snapshots.ts';
import { type Applied, type MachineState, StateMachine } from './state-machine.ts';
import { LogTail } from './tail.ts';
import { uselessBecause } from './useless-server.ts';
import { assertNotOlder, type Seen, WentBack } from './went-back.ts';
import { Witnesses } from './witnesses.ts';

type ReplicaOptions = Omit<LogStoreOptions, 'retention'>;

/** This process's copy of what the log says, and its voice in it. */
export class LogReplica {
  readonly #options: ReplicaOptions;
  readonly #link: LogLink;
  readonly #inboxPrefix: string;
  readonly #witnesses: Witnesses;
  readonly #publications: Publications;
  readonly names: LogNames;
  #current: CurrentLog | undefined;
  #machine = new StateMachine();
  #feed: ChangeFeed | undefined;
  #tail: LogTail | undefined;
  #proposer: Proposer | undefined;
  #snapshots: SnapshotTaker | undefined;
  #haltReason: string | undefined;
  #failure: string | undefined;
  #isCaughtUp = false;
  #isClosed = false;
  /** A reading of the log that began later takes the place of one that is under way. */
  #readings = 0;
  /** The position of the newest snapshot: a log that ends before it has lost what was acknowledged. */
  #knownUpTo = 0;
  /** When a part of a snapshot came last. */
  #partAt = Number.NEGATIVE_INFINITY;

  /** Connects, and finds or creates the log. Nothing is read from it yet. */
  static async open(options: ReplicaOptions, dial?: Dial): Promise<LogReplica> {
    const replica = new LogReplica(options, dial);
    try {
      await replica.#findLog();
      return replica;
    } catch (error) {
      await replica.close();
      throw replica.describeFailedStart(error);
    }
  }

  private constructor(options: ReplicaOptions, dial: Dial | undefined) {
    this.#options = options;
    this.names = logNames(options.name);
    this.#inboxPrefix = `_INBOX_${options.user ?? 'anyone'}`;
    const { clock, log } = options;
    this.#witnesses = new Witnesses(clock);
    this.#publications = new Publications({
      clock,
      inboxPrefix: this.#inboxPrefix,
      connection: () => this.connection,
      place: () => ({ stream: this.current.stream, subject: this.names.logSubject(this.lineage) }),
      position: () => Math.max(this.#machine.position, this.#knownUpTo),
      onRefused: () => this.#proposer?.onRefused(),
      onWentBack: (what) => this.halt(`the log went back: ${what}`),
    });
    const { servers, user, password, tls } = options;
    const credentials = { ...(user === undefined ? {} : { user }), ...(password === undefined ? {} : { password }) };
    this.#link = new LogLink({
      access: { servers, ...credentials, ...(tls === undefined ? {} : { tls }) },
      ...(dial === undefined ? {} : { dial }),
      inboxPrefix: this.#inboxPrefix,
      clock,
      log,
      onConnection: (connection) => this.#begin(connection),
      onLost: () => this.#tail?.abandon(),
    });
  }

  get connection(): NatsConnection | undefined {
    return this.#link.connection;
  }

  get current(): CurrentLog {
    invariant(this.#current !== undefined, 'the log was found');
    return this.#current;
  }

  get lineage(): Lineage {
    return this.current.lineage;
  }

  get feed(): ChangeFeed {
    invariant(this.#feed !== undefined, 'the replica was loaded');
    return this.#feed;
  }

  get table(): StateMachine['table'] {
    return this.#machine.table;
  }

  get revision(): Revision {
    return this.#machine.table.revision;
  }

  get objectBytes(): number {
    return this.#machine.table.bytes;
  }

  /** A process that began with a snapshot has less history than the log. */
  get compacted(): Revision {
    return Math.max(this.#machine.compacted, this.feed.floor);
  }

  get haltedBy(): string | undefined {
    return this.#haltReason;
  }

  /** Why the replica cannot serve now. */
  trouble(): string | undefined {
    if (this.#isClosed) return 'the store is closed';
    if (this.#failure !== undefined) return this.#failure;
    const trouble = this.#link.trouble();
    if (trouble !== undefined) return trouble;
    if (!this.#isCaughtUp) return 'the log is being read';
    if ((this.#proposer?.stalledForMs() ?? 0) <= LOG_STALLED_AFTER_MS) return undefined;
    const { lastRefusal } = this.#publications;
    return `the log commits nothing: no majority of the NATS servers answers${lastRefusal === undefined ? '' : ` (${lastRefusal})`}`;
  }

  cautions(): readonly string[] {
    const { against } = this.#witnesses.verdict;
    return against === 0 ? [] : [`${against} other API servers made something else of the same log; restart them`];
  }

  write(write: LoggedWrite): Promise<WriteResult> {
    return this.#voice.write(write);
  }

  /** Notes that the log was seen to hold this sequence. */
  sawStored(sequence: number): void {
    this.#publications.sawStored(sequence);
  }

  barrier(): Promise<void> {
    return this.#voice.barrier();
  }

  command(command: Command): Promise<void> {
    return this.#voice.command(command);
  }

  /** Loads the newest snapshot, follows the log from there, and resolves when everything so far has been applied. */
  async catchUp(): Promise<void> {
    const { clock, ids, limits, writeDeadlineMs } = this.#options;
    await this.#loadFirst();
    if (this.#haltReason !== undefined) return;
    this.#proposer = new Proposer({
      clock,
      ids,
      limits,
      ...(writeDeadlineMs === undefined ? {} : { writeDeadlineMs }),
      claim: () => this.#machine.claim,
      publish: (message) => this.#publications.send(message),
      payloadMax: () => this.#publications.payloadMax(),
      haltedBy: () => this.#haltReason,
      onStalled: () => this.#moveOnUnlessUseful(),
    });
    this.#tail = new LogTail({
      clock,
      log: this.#options.log,
      inboxPrefix: this.#inboxPrefix,
      stream: this.current.stream,
      position: () => this.#machine.position,
      storedUpTo: () => this.#publications.storedUpTo,
      verify: (connection) => this.#verify(connection),
      onMessage: (sequence, payload) => this.#take(sequence, payload),
      onGap: (sequence) => void this.#reload(sequence),
    });
    this.#snapshots = new SnapshotTaker(this.#options, {
      place: () => this.#snapshotPlace(),
      isConfirmed: (position) => this.#witnesses.confirms(position),
    });
    const { connection } = this;
    if (connection !== undefined) this.#begin(connection);
    await this.#reachEnd().catch((error: unknown) => {
      if (this.#haltReason === undefined) throw error;
    });
    this.#isCaughtUp = true;
  }

  /** Reads on up to a sequence, whatever the log says, and takes part in nothing. */
  async readUpTo(sequence: number): Promise<MachineState> {
    const { clock, log, startTimeoutMs = LOG_START_TIMEOUT_MS } = this.#options;
    if (this.#machine.position === 0) await this.#load();
    const machine = this.#machine;
    const tail = new LogTail({
      clock,
      log,
      inboxPrefix: this.#inboxPrefix,
      stream: this.current.stream,
      position: () => machine.position,
      storedUpTo: () => sequence,
      verify: async () => undefined,
      onMessage: (at, payload) => {
        if (at <= sequence) machine.apply(at, payload);
      },
      onGap: (at) => log.warn('the log has a gap', { at }),
    });
    const deadline = clock.monotonic() + startTimeoutMs;
    if (this.connection !== undefined) await tail.establish(this.connection);
    while (machine.position < sequence) {
      if (clock.monotonic() > deadline)
        throw new IncompleteLog(`it can be read up to ${machine.position} of ${sequence}`);
      await clock.sleep(LOG_TICK_MS);
    }
    tail.abandon();
    return machine.state;
  }

  /** Stops serving at once; then every other process through the log. */
  halt(reason: string): void {
    if (this.#haltReason !== undefined) return;
    this.#haltHere(reason);
    void this.#recordHalt(reason);
  }

  describeFailedStart(error: unknown): OperatorError {
    if (error instanceof OperatorError) return error;
    if (error instanceof IncompleteLog) return incompleteError(error);
    return unreachableError(this.#options.servers, this.#link.trouble() ?? describeError(error));
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const error = new StoreUnavailable('the store is closed');
    this.#tail?.abandon();
    this.#proposer?.close(error);
    this.#feed?.end(error);
    this.#snapshots?.stop();
    await this.#link.close();
  }

  get #voice(): Proposer {
    invariant(this.#proposer !== undefined, 'the replica was loaded');
    return this.#proposer;
  }

  /** Until the cluster of servers is ready, its answers are refusals of many kinds. */
  async #findLog(): Promise<void> {
    const { clock, ids, replicas = 3, startTimeoutMs = LOG_START_TIMEOUT_MS } = this.#options;
    const deadline = clock.monotonic() + startTimeoutMs;
    for (;;) {
      const { connection } = this.#link;
      try {
        if (connection === undefined) throw new StoreUnavailable(this.#link.trouble() ?? 'not connected');
        this.#current = await openLog(connection, { names: this.names, replicas, ids });
        return;
      } catch (error) {
        if (clock.monotonic() >= deadline || (error instanceof OperatorError && isLasting(error))) throw error;
        this.#link.moveOnAfter(LOG_STALLED_AFTER_MS, describeError(error));
        await clock.sleep(connection === undefined ? LOG_RETRY_FIRST_MS : LOG_TICK_MS);
      }
    }
  }

  #begin(connection: NatsConnection): void {
    if (this.#tail === undefined || this.#haltReason !== undefined) return;
    this.#publications.begin(connection);
    void this.#tail.establish(connection);
    this.#proposer?.resendAll();
  }

  async #load(): Promise<void> {
    await this.#loadFrom(await this.#findBeginning());
  }

  /** Snapshots may be replaced while they are loaded, or there is no connection yet. */
  async #loadFirst(): Promise<void> {
    for (let reading = 1; ; reading++) {
      try {
        await this.#load();
        return;
      } catch (error) {
        if (!(error instanceof StoreUnavailable) || this.#isClosed || reading >= LOG_INCOMPLETE_READINGS) throw error;
        this.#options.log.warn('the log cannot be read yet', { reason: describeError(error) });
        await this.#options.clock.sleep(LOG_RETRY_LONGEST_MS);
      }
    }
  }

  async #loadFrom({ place, firstSequence }: Beginning): Promise<void> {
    const onPart = (): void => void (this.#partAt = this.#options.clock.monotonic());
    const { state, newestPosition } = await loadSnapshot(place, { firstSequence, onPart });
    this.#knownUpTo = Math.max(this.#knownUpTo, newestPosition);
    this.#adoptMachine(new StateMachine(state));
  }

  async #findBeginning(): Promise<Beginning> {
    const place = this.#snapshotPlace();
    const info = place === undefined ? undefined : await streamInfo(place.connection, this.current.stream);
    if (place === undefined || info === undefined) throw new StoreUnavailable('the log cannot be read');
    return { place, firstSequence: info.firstSequence };
  }

  #adoptMachine(machine: StateMachine): void {
    const { revision } = machine.table;
    assertNotOlder(placeOf(this.#machine), placeOf(machine));
    this.#machine = machine;
    // What was sent until now may have had its effect in the part that the snapshot has.
    this.#proposer?.onSkipped();
    const unbounded = Number.POSITIVE_INFINITY;
    if (this.#feed === undefined)
      this.#feed = new ChangeFeed({ start: revision, maxChanges: unbounded, maxBytes: unbounded });
    else this.#feed.restart(revision);
    if (machine.halted !== undefined) this.#haltHere(machine.halted);
  }

  /** Resolves when everything so far has been applied. A long log takes longer than a barrier may: progress counts. */
  async #reachEnd(): Promise<void> {
    const { clock, startTimeoutMs = LOG_START_TIMEOUT_MS } = this.#options;
    let position = this.#machine.position;
    let deadline = clock.monotonic() + startTimeoutMs;
    for (;;) {
      try {
        await this.#voice.barrier();
        this.#assertLogReaches();
        return;
      } catch (error) {
        if (this.#isClosed || this.#haltReason !== undefined || this.#failure !== undefined) throw error;
        if (this.#machine.position > position) deadline = clock.monotonic() + startTimeoutMs;
        else if (clock.monotonic() >= deadline) throw error;
        position = this.#machine.position;
      }
    }
  }

  /** Invariant I5: the entry of the barrier was sent after the newest snapshot was known, so it comes behind that. */
  #assertLogReaches(): void {
    const { position } = this.#machine;
    if (position > this.#knownUpTo) return;
    this.halt(`the log went back: it ends at entry ${position}, and a snapshot has entry ${this.#knownUpTo}`);
    throw new StoreHalted(this.#haltReason ?? 'halted');
  }

  /**
   * The log before the next entry was dropped while this process was away: a snapshot has it. Servers that do not answer
   * are no reason to halt; a log that lacks entries is one, when it lacks them again and again.
   */
  async #reload(sequence: number): Promise<void> {
    const reading = ++this.#readings;
    const isWanted = (): boolean =>
      reading === this.#readings && !this.#isClosed && this.#haltReason === undefined && this.#failure === undefined;
    this.#isCaughtUp = false;
    this.#options.log.warn('the log was dropped up to here; loading a snapshot', { sequence });
    for (let incomplete = 0; isWanted(); ) {
      try {
        await this.#loadAndFollow(sequence);
        if (isWanted()) this.#isCaughtUp = true;
        return;
      } catch (error) {
        if (!isWanted()) return;
        if (error instanceof WentBack) this.halt(error.message);
        if (error instanceof IncompleteLog && ++incomplete >= LOG_INCOMPLETE_READINGS) this.halt(error.message);
        this.#options.log.warn('the log cannot be read again', { reason: describeError(error) });
        await this.#options.clock.sleep(LOG_RETRY_LONGEST_MS);
      }
    }
  }

  /** An earlier attempt may have read on from a snapshot that is older than what it has read by now. */
  async #loadAndFollow(sequence: number): Promise<void> {
    const beginning = await this.#findBeginning();
    if (Math.max(beginning.firstSequence, sequence) > this.#machine.position + 1) await this.#loadFrom(beginning);
    const { connection } = this;
    if (connection !== undefined && this.#haltReason === undefined) void this.#tail?.establish(connection);
    await this.#reachEnd();
  }

  #take(sequence: number, payload: Buffer): void {
    let applied: Applied;
    try {
      applied = this.#machine.apply(sequence, payload);
    } catch (error) {
      this.#fail(error);
      return;
    }
    this.#judge(applied);
    if (this.#haltReason !== undefined) return;
    const { changes, entry } = applied;
    if (changes.length > 0) this.feed.publish(changes);
    if (this.#machine.compacted > this.feed.floor) this.feed.dropUpTo(this.#machine.compacted);
    this.#proposer?.onApplied(applied);
    if (this.#machine.halted !== undefined) this.#haltHere(this.#machine.halted);
    this.#snapshots?.onApplied(this.#machine, {
      bytes: payload.length,
      isOwn: entry.session === this.#proposer?.session,
    });
  }

  /** Invariants I5 and I7. */
  #judge({ claim, entry }: Applied): void {
    if (claim === 'unknown') return;
    if (claim === 'ahead') {
      this.halt(`the log went back: an API server has seen more of it than entry ${this.#machine.position}`);
      return;
    }
    if (entry.session === this.#proposer?.session) return;
    this.#witnesses.add(entry.session, { agrees: claim === 'agrees', position: entry.claim?.sequence ?? 0 });
    const { against, isRefuted } = this.#witnesses.verdict;
    if (isRefuted) this.#haltHere(`${against} other API servers made something else of the same log`);
  }

  /** The log broke its promise, or cannot be read by this version. Later entries cannot be applied either. */
  #fail(error: unknown): void {
    this.#tail?.abandon();
    this.#options.log.error('an entry of the log cannot be applied', { error });
    if (error instanceof Error && error.name === 'ForeignEntry') {
      this.#failure = `${error.message}; update this API server`;
      this.feed.end(new StoreUnavailable(this.#failure));
    } else this.halt(describeError(error));
  }

  #haltHere(reason: string): void {
    if (this.#haltReason !== undefined) return;
    this.#haltReason = reason;
    this.#options.log.error('the store is halted', { reason });
    const halted = new StoreHalted(reason);
    this.#tail?.abandon();
    this.#feed?.end(halted);
    this.#proposer?.close(halted);
    this.#snapshots?.stop();
  }

  /** Nothing is applied here any more, so the entry gets a session of its own. */
  async #recordHalt(reason: string): Promise<void> {
    const { clock, ids } = this.#options;
    const session = ids.uuid();
    const open = { session, claim: undefined, limits: undefined, writes: [] };
    const entries = [
      encodeEntry({ ...open, number: 1, command: { kind: 'open' } }),
      encodeEntry({ ...open, number: 2, command: { kind: 'halt', reason } }),
    ];
    for (const data of entries) {
      while (!this.#isClosed && !(await this.#isStored(data))) await clock.sleep(LOG_RESEND_AFTER_MS);
    }
  }

  async #isStored(data: Buffer): Promise<boolean> {
    const { connection } = this;
    if (connection === undefined) return false;
    const message = { stream: this.current.stream, subject: this.names.logSubject(this.lineage), data };
    return (await store(connection, message).catch(() => undefined)) !== undefined;
  }

  /** Invariant I5: a stream of the same name that was created later is another log. */
  async #verify(connection: NatsConnection): Promise<void> {
    const { stream, created } = this.current;
    const info = await streamInfo(connection, stream);
    if (info === undefined) throw new StoreUnavailable(`stream ${stream} does not exist`);
    if (info.created !== created) this.halt(`the log went back: its stream was created anew at ${info.created}`);
  }

  #moveOnUnlessUseful(): void {
    const reason = uselessBecause({
      storedAgoMs: this.#publications.storedAgoMs,
      heardAgoMs: Math.min(this.#tail?.silentForMs ?? 0, this.#options.clock.monotonic() - this.#partAt),
      refusal: this.#publications.lastRefusal,
    });
    if (reason !== undefined) this.#link.moveOnAfter(LOG_MOVE_ON_AFTER_MS, reason);
  }

  #snapshotPlace() {
    const { connection, names } = this;
    return connection === undefined ? undefined : { connection, names, current: this.current };
  }
}

/** Where the log begins, and how snapshots are read. */
interface Beginning {
  readonly place: SnapshotPlace;
  readonly firstSequence: number;
}

const placeOf = ({ position, claim, table }: StateMachine): Seen => ({
  position,
  revision: table.revision,
  digest: claim.digest,
});

/** Waiting does not help against these. */
const isLasting = ({ code }: OperatorError): boolean => code !== 'STORE_UNFIT';
