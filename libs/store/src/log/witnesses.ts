import type { Clock } from '@holdfast/platform';
import { LOG_WITNESS_VALID_MS, LOG_WITNESSES_MAX } from '../limits.ts';

interface Witness {
  readonly agrees: boolean;
  /** Up to where its last claim covers the log. */
  readonly position: number;
  readonly at: number;
}

/**
 * Invariant I7: what the other processes say of the same places of the log. A state machine that is alone with what it
 * made of the log is the wrong one; where nobody has a majority, nobody serves.
 */
export class Witnesses {
  readonly #clock: Clock;
  readonly #witnesses = new Map<string, Witness>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** What another process said; what this one says of itself counts for nothing. */
  add(session: string, { agrees, position }: { readonly agrees: boolean; readonly position: number }): void {
    this.#witnesses.delete(session);
    this.#witnesses.set(session, { agrees, position, at: this.#clock.monotonic() });
    for (const oldest of this.#witnesses.keys()) {
      if (this.#witnesses.size <= LOG_WITNESSES_MAX) break;
      this.#witnesses.delete(oldest);
    }
  }

  /** `against`: as many processes differ from this one as agree with it, itself included. */
  get verdict(): { readonly against: number; readonly isRefuted: boolean } {
    const recent = this.#recent();
    const against = recent.filter(({ agrees }) => !agrees).length;
    return { against, isRefuted: against > 0 && against >= recent.length - against + 1 };
  }

  /** True when another process made the same of the log up to this position; also when there is no other one. */
  confirms(position: number): boolean {
    const recent = this.#recent();
    return recent.length === 0 || recent.some((witness) => witness.agrees && witness.position >= position);
  }

  #recent(): readonly Witness[] {
    const since = this.#clock.monotonic() - LOG_WITNESS_VALID_MS;
    return [...this.#witnesses.values()].filter(({ at }) => at >= since);
  }
}
