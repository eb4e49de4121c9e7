import { COST_BETWEEN_CHECKS } from './limits.ts';
import { BudgetExceeded } from './values.ts';

/** Milliseconds of a monotonic clock. */
export type Now = () => number;

/** Counts the cost of an evaluation. Throws when it exceeds its cost limit or its deadline. */
export class Meter {
  spent = 0;
  readonly #limit: number;
  readonly #deadline: number;
  readonly #now: Now | undefined;
  #nextCheck = COST_BETWEEN_CHECKS;

  constructor(limit: number, now?: Now, deadline = Infinity) {
    this.#limit = limit;
    this.#now = now;
    this.#deadline = deadline;
  }

  spend(cost: number): void {
    this.spent += cost;
    if (this.spent > this.#limit) throw new BudgetExceeded('operation cancelled: actual cost limit exceeded');
    if (this.spent >= this.#nextCheck) this.#lookAtClock();
  }

  #lookAtClock(): void {
    this.#nextCheck = this.spent + COST_BETWEEN_CHECKS;
    if (this.#now !== undefined && this.#now() > this.#deadline) {
      throw new BudgetExceeded('operation cancelled: evaluation took too long');
    }
  }
}
