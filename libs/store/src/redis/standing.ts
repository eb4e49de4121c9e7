import { type Clock, describeError, type Log } from '@holdfast/platform';
import { type Lineage, type Revision, StoreHalted, StoreUnavailable } from '../port.ts';
import type { Inspection } from './replies.ts';
import { type Sighting, Witness } from './witness.ts';

/** What other processes are told of a halt. */
export interface Halt {
  readonly reason: string;
  readonly incarnation: string;
  readonly epoch: string;
}

/**
 * What this process believes about the server: whether it may be used, and the highest revision it has seen there.
 * A halt is for good: it means that data we were promised is not what it was, and no automatic step may touch that.
 */
export class Standing {
  readonly #log: Log;
  readonly #allowUnsafe: boolean;
  readonly #witness = new Witness();
  #halted: string | undefined;
  #stateReason = '';
  #unsafe: readonly string[] = [];
  #unfit: readonly string[] = [];
  #state = 'serving';
  #highest: Revision = 0;
  #compacted: Revision = 0;
  #incarnation = '';
  #epoch = '';
  #closed = false;
  #onHalt: (halt: Halt) => void = () => {};
  #onHaltElsewhere: (error: StoreHalted) => void = () => {};

  constructor(options: { readonly log: Log; readonly allowUnsafe: boolean }) {
    this.#log = options.log;
    this.#allowUnsafe = options.allowUnsafe;
  }

  get epoch(): string {
    return this.#epoch;
  }

  get lineage(): Lineage {
    return { incarnation: this.#incarnation, epoch: Number(this.#epoch) };
  }

  /** The newest changes that this process has seen, to be compared with the server's history. */
  get witnessed(): readonly Sighting[] {
    return this.#witness.recent();
  }

  get highest(): Revision {
    return this.#highest;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Sentences on everything that keeps the store from serving. */
  get complaints(): readonly string[] {
    const complaints = [...this.#unfit];
    if (this.#closed) complaints.push('the store is closed');
    const { haltedBy: halted } = this;
    if (halted !== undefined) complaints.push(new StoreHalted(halted).message);
    else if (this.#state !== 'serving') complaints.push(`the store's state is ${this.#state}`);
    if (!this.#allowUnsafe) complaints.push(...this.#unsafe);
    return complaints;
  }

  /** Why nothing of this store may be used any more, in this process. */
  get halted(): string | undefined {
    return this.#halted;
  }

  /** The same, or why another process has halted the store. */
  get haltedBy(): string | undefined {
    return this.#halted ?? (this.#state === 'halted' ? this.#recordedReason : undefined);
  }

  get #recordedReason(): string {
    return this.#stateReason === '' ? 'another process has halted it' : this.#stateReason;
  }

  /** Called when another process has halted the store. */
  onHaltElsewhere(report: (error: StoreHalted) => void): void {
    this.#onHaltElsewhere = report;
  }

  /** Called once, when the store halts. */
  onHalt(report: (halt: Halt) => void): void {
    this.#onHalt = report;
  }

  /** Settings that lose acknowledged writes and were accepted at the start. */
  get cautions(): readonly string[] {
    return this.#allowUnsafe ? this.#unsafe.map((setting) => `the store is unsafe: ${setting}`) : [];
  }

  /** Throws unless the store may be used. */
  assertServing(): void {
    const { haltedBy: halted } = this;
    if (halted !== undefined) throw new StoreHalted(halted);
    const [complaint] = this.complaints;
    if (complaint !== undefined) throw new StoreUnavailable(complaint);
  }

  /** Takes note of a change that this process has read or written. Halts when it has seen another one at that revision. */
  witness(sighting: Sighting): void {
    const other = this.#witness.note(sighting);
    if (other === undefined) return;
    throw this.halt(
      `revision ${sighting.revision} is write ${sighting.writeId}, this process has seen write ${other.writeId} there`,
    );
  }

  /** The server's history is not what this process has seen of it. */
  haltOnDifference({ revision, found }: { readonly revision: Revision; readonly found: string }): StoreUnavailable {
    const what = found === '' ? 'nothing' : `write ${found}`;
    return this.halt(
      `the history has ${what} at revision ${revision}, where this process has seen another write: the data were replaced`,
    );
  }

  /** Takes note of a revision that came with an answer, which must be at least what was known before it was asked for. */
  observe(revision: Revision, atLeast: Revision): void {
    if (revision < atLeast) {
      throw this.halt(`the server answered with revision ${revision} where at least ${atLeast} was due`);
    }
    if (revision > this.#highest) this.#highest = revision;
  }

  /** The server's account of itself at the first contact. */
  adopt({ meta }: Inspection): void {
    this.#incarnation = meta?.incarnation ?? '';
    this.#epoch = meta?.epoch ?? '';
    this.#highest = meta?.revision ?? 0;
    this.#state = meta?.state ?? 'absent';
  }

  /** The server's account of itself later on. `knownBefore`: the highest revision seen before it was asked for. */
  review({ meta, lastHistoryRevision }: Inspection, knownBefore: Revision): void {
    if (meta === undefined) {
      this.halt('the server has lost its data');
      return;
    }
    if (meta.incarnation !== this.#incarnation || meta.epoch !== this.#epoch) {
      this.halt('the store was repaired since this process started: restart it');
      return;
    }
    if (lastHistoryRevision !== meta.revision) {
      this.halt(`the history ends at ${lastHistoryRevision}, the store is at ${meta.revision}`);
      return;
    }
    this.changeState(meta.state, meta.haltReason);
    if (meta.compacted < this.#compacted) {
      this.halt(`the compacted revision went back from ${this.#compacted} to ${meta.compacted}`);
      return;
    }
    this.#compacted = meta.compacted;
    if (meta.revision < knownBefore) {
      this.halt(`the server is at revision ${meta.revision}, this process has seen ${knownBefore}`);
    } else if (meta.revision > this.#highest) {
      this.#highest = meta.revision;
    }
  }

  changeState(state: string, reason = ''): void {
    if (reason !== '') this.#stateReason = reason;
    if (state === this.#state) return;
    this.#log.warn('the state of the store changed', { from: this.#state, to: state, reason });
    this.#state = state;
    if (state === 'halted') this.#onHaltElsewhere(new StoreHalted(this.#recordedReason));
    else this.#stateReason = '';
  }

  setChecks(checks: { readonly unsafe: readonly string[]; readonly unfit: readonly string[] }): void {
    if (checks.unsafe.join() !== this.#unsafe.join() && checks.unsafe.length > 0) {
      this.#log.warn('the store is not set up to be durable', {
        settings: checks.unsafe,
        tolerated: this.#allowUnsafe,
      });
    }
    this.#unsafe = checks.unsafe;
    this.#unfit = checks.unfit;
  }

  /** Refuses everything from now on; answers the error for whoever noticed. */
  halt(reason: string): StoreUnavailable {
    if (this.#halted === undefined) {
      this.#halted = reason;
      this.#log.error('the store is halted', { reason });
      this.#onHalt({ reason, incarnation: this.#incarnation, epoch: this.#epoch });
    }
    return new StoreHalted(this.#halted);
  }

  close(): void {
    this.#closed = true;
  }
}

/** An estimate of the server's clock that does not follow jumps of this machine's. */
export class ServerTime {
  readonly #clock: Clock;
  #offset = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  sample(serverTimeMs: number): void {
    this.#offset = serverTimeMs - this.#clock.monotonic();
  }

  now(): number {
    return Math.floor(this.#clock.monotonic() + this.#offset);
  }
}

export function unavailable(what: string, cause: unknown): StoreUnavailable {
  return new StoreUnavailable(`${what}: ${describeError(cause)}`, { cause });
}
