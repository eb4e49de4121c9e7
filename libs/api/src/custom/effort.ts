import { CHARS_PER_CHECK, CHECKS_MAX, MATCH_STEPS_PER_CHECK } from './limits.ts';

export class EffortExceeded extends Error {
  override readonly name = 'EffortExceeded';
  constructor() {
    super(`the object is too complex to be validated: ${CHECKS_MAX} checks were not enough`);
  }
}

/** The work that is left for the validation of one object, or of all defaults of one definition. */
export class Effort {
  #left = CHECKS_MAX;

  /** Throws EffortExceeded. */
  spend(checks: number): void {
    this.#left -= checks;
    if (this.#left < 0) throw new EffortExceeded();
  }

  /** The same for characters of texts. */
  readonly read = (chars: number): void => this.spend(chars / CHARS_PER_CHECK);

  /** The same for steps of matching a pattern. */
  readonly match = (steps: number): void => this.spend(steps / MATCH_STEPS_PER_CHECK);
}
