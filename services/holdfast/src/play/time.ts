import { StatusError } from '@holdfast/machinery';
import { type Clock, formatTime } from '@holdfast/platform';
import { ADVANCE_MS_MAX } from './limits.ts';
import { fieldsOf, spanOf, unfit } from './step.ts';

/** What lets the time of a cluster pass. */
export interface PlayTime {
  /** Resolves when everything that the time brought about has happened. Aborted: time stands still where it is. */
  readonly advance: (ms: number, signal?: AbortSignal) => Promise<void>;
}

/** The clock of the cluster, as the API shows it. */
export interface ShownClock {
  readonly kind: 'real' | 'virtual';
  readonly now: string;
}

/** The clock of a cluster that was started for faults, and the request that advances it. */
export class Hands {
  readonly #clock: Clock;
  /** Absent: the cluster lives on the clock of its machine. */
  readonly #time: PlayTime | undefined;
  #isMoving = false;

  constructor(clock: Clock, time: PlayTime | undefined) {
    this.#clock = clock;
    this.#time = time;
  }

  shown(): ShownClock {
    return { kind: this.#time === undefined ? 'real' : 'virtual', now: formatTime(this.#clock.now()) };
  }

  /** Advances by `{ "duration": "5m" }`. */
  async advance(body: string | Uint8Array | undefined, signal: AbortSignal | undefined): Promise<ShownClock> {
    const time = this.#time;
    if (time === undefined) {
      throw conflict('this cluster lives on the clock of its machine: start one with --play --clock=virtual');
    }
    const ms = spanAsked(body);
    if (this.#isMoving) throw conflict('somebody advances the time already: wait until that has ended');
    this.#isMoving = true;
    try {
      await time.advance(ms, signal);
    } finally {
      this.#isMoving = false;
    }
    return this.shown();
  }
}

function spanAsked(body: string | Uint8Array | undefined): number {
  const { duration, ...others } = fieldsOf(body, '{"duration": "5m"}');
  const wrong = Object.keys(others)[0];
  if (wrong !== undefined)
    throw unfit(`an advance has one field, "duration": not "${wrong.slice(0, WORD_CHARS_SHOWN)}"`);
  return spanOf('duration', duration, ADVANCE_MS_MAX);
}

const WORD_CHARS_SHOWN = 100;

const conflict = (message: string): StatusError => new StatusError({ code: 409, reason: 'Conflict', message });
