import { type Clock, describeError, type Log } from '@holdfast/platform';
import { type Lineage, type Revision, StoreHalted, StoreUnavailable } from '../port.ts';
import type { Inspection } from './replies.ts';
import { type Sighting, Witness } from './witness.ts';

/** A halt as reported to other processes. */
export interface Halt {
  readonly reason: string;
  readonly incarnation: string;
  readonly epoch: string;
}

/**
 * This process's knowledge about the server: whether it may be used, and the highest revision seen there. A halt is
 * permanent: it means that the data have lost their guarantees, and no automatic step may continue with them.
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

  /** The newest changes that this process has seen, for the comparison with the server's history. */
  get witnessed(): readonly Sighting[] {
    return this.#witness.recent();
  }

  get highest(): Revision {
    return this.#highest;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Sentences about everything that prevents the store from serving. */
  get complaints(): readonly string[] {
    const complaints = [...this.#unfit];
    if (this.#closed) complaints.push('the store is closed');
    const { haltedBy: halted } = this;
    if (halted !== undefined) complaints.push(new StoreHalted(halted).message);
    else if (this.#state !== 'serving') complaints.push(`the store's state is ${this.#state}`);
    if (!this.#allowUnsafe) complaints.push(...this.#unsafe);
    return complaints;
  }

  /** The reason why this process may not use the store any more. */
  get halted(): string | undefined {
    return this.#halted;
  }

  /** The same, or the reason why another process halted the store. */
  get haltedBy(): string | undefined {
    return this.#halted ?? (this.#state === 'halted' ? this.#recordedReason : undefined);
  }

  get #recordedReason(): string {
    return this.#stateReason === '' ? 'another process has halted it' : this.#stateReason;
  }

  /** `report` runs when another process halts the store. */
  onHaltElsewhere(report: (error: StoreHalted) => void): void {
    this.#onHaltElsewhere = report;
  }

  /** `report` runs once, when the store halts. */
  onHalt(report: (halt: Halt) => void): void {
    this.#onHalt = report;
  }

  /** Settings that lose acknowledged writes and that the operator accepted at the start. */
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

  /**
   * Records a change that this process has read or written. Halts when it has seen a different one at that revision.
   */
  witness(sighting: Sighting): void {
    const other = this.#witness.note(sighting);
    if (other === undefined) return;
    throw this.halt(
      `revision ${sighting.revision} is write ${sighting.writeId}, this process has seen write ${other.writeId} there`,
    );
  }

  /** The server's history differs from what this process has seen. Halts. */
  haltOnDifference({ revision, found }: { readonly revision: Revision; readonly found: string }): StoreUnavailable {
    const what = found === '' ? 'nothing' : `write ${found}`;
    return this.halt(
      `the history has ${what} at revision ${revision}, where this process has seen another write: the data were replaced`,
    );
  }

  /** Records the revision in an answer. Halts when it is below what was known before the request. */
  observe(revision: Revision, atLeast: Revision): void {
    if (revision < atLeast) {
      throw this.halt(`the server answered with revision ${revision} where at least ${atLeast} was due`);
    }
    if (revision > this.#highest) this.#highest = revision;
  }

  /** Evaluates the server's report at the first contact. */
  adopt({ meta }: Inspection): void {
    this.#incarnation = meta?.incarnation ?? '';
    this.#epoch = meta?.epoch ?? '';
    this.#highest = meta?.revision ?? 0;
    this.#state = meta?.state ?? 'absent';
  }

  /** Evaluates a later report. `knownBefore`: the highest revision seen before the request. */
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

  /** Rejects everything from now on. Returns the error for the caller that noticed. */
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

/** An estimate of the server's clock that ignores jumps of this machine's wall clock. */
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
