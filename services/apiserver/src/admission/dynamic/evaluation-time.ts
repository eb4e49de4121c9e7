import type { Allowance } from '@holdfast/cel';
import type { Clock } from '@holdfast/platform';
import { POLICY_DEADLINE_MS } from '../../limits.ts';

/** The clock and the deadline of an evaluation. */
export type TimeAllowance = Required<Pick<Allowance, 'now' | 'deadline'>>;

/**
 * The time that the expressions of one policy or webhook may take on one request, however often they are evaluated. The
 * time between the evaluations, in which an authorizer looks something up, does not count.
 */
export class EvaluationTime {
  readonly #clock: Clock;
  #leftMs = POLICY_DEADLINE_MS;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  spend<T>(evaluate: (time: TimeAllowance) => T): T {
    const now = (): number => this.#clock.monotonic();
    const began = now();
    try {
      return evaluate({ now, deadline: began + this.#leftMs });
    } finally {
      this.#leftMs -= now() - began;
    }
  }
}
