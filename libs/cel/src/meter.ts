import {
  CHARS_PER_STEP,
  COST_BETWEEN_CHECKS,
  MAX_LIST_ITEMS,
  MAX_TEXT_CHARS,
  MAX_WORK_STEPS,
  WORK_STEPS_BETWEEN_CHECKS,
} from './limits.ts';
import { BudgetExceeded } from './values.ts';

/** Milliseconds of a monotonic clock. */
export type Now = () => number;

/** Counts the cost and the work of an evaluation. Throws when a limit or the deadline is exceeded. */
export class Meter {
  spent = 0;
  worked = 0;
  readonly #limit: number;
  readonly #deadline: number;
  readonly #now: Now | undefined;
  #nextCheck = COST_BETWEEN_CHECKS;
  #nextWorkCheck = WORK_STEPS_BETWEEN_CHECKS;

  constructor(limit: number, now?: Now, deadline = Infinity) {
    this.#limit = limit;
    this.#now = now;
    this.#deadline = deadline;
  }

  /** Adds what Kubernetes charges. */
  spend(cost: number): void {
    this.spent += cost;
    if (this.spent > this.#limit) throw new BudgetExceeded('operation cancelled: actual cost limit exceeded');
    if (this.spent >= this.#nextCheck) this.lookAtClock();
  }

  /** Adds what the server does, before it is done. Kubernetes knows no such limit, so it is not part of the cost. */
  work(steps: number): void {
    this.canWork(steps);
    this.worked += steps;
    if (this.worked >= this.#nextWorkCheck) this.lookAtClock();
  }

  /** Throws when so many steps are not left. */
  canWork(steps: number): void {
    if (this.worked + steps > MAX_WORK_STEPS) {
      throw new BudgetExceeded('operation cancelled: evaluation takes too many steps');
    }
  }

  /** Adds the work of reading or writing a text. */
  text(chars: number): void {
    this.textSize(chars);
    this.work(1 + chars / CHARS_PER_STEP);
  }

  /** Refuses a text that would be too long. */
  textSize(chars: number): void {
    if (chars > MAX_TEXT_CHARS) {
      throw new BudgetExceeded(`operation cancelled: a text would have more than ${MAX_TEXT_CHARS} characters`);
    }
  }

  /** Refuses a list that would be too long. */
  listSize(items: number): void {
    if (items > MAX_LIST_ITEMS) {
      throw new BudgetExceeded(`operation cancelled: a list would have more than ${MAX_LIST_ITEMS} items`);
    }
  }

  lookAtClock(): void {
    this.#nextCheck = this.spent + COST_BETWEEN_CHECKS;
    this.#nextWorkCheck = this.worked + WORK_STEPS_BETWEEN_CHECKS;
    if (this.#now !== undefined && this.#now() > this.#deadline) {
      throw new BudgetExceeded('operation cancelled: evaluation took too long');
    }
  }
}
