import { OperatorError } from '@holdfast/platform';

/** What a client of the control endpoint did wrong, or what failed: one sentence, and one with the next step. */
export class Problem extends Error {
  readonly status: number;
  readonly nextStep: string;
  /** The methods of the path, for an answer 405. */
  readonly allow: readonly string[];

  constructor(status: number, message: string, nextStep: string, allow: readonly string[] = []) {
    super(message);
    this.name = 'Problem';
    this.status = status;
    this.nextStep = nextStep;
    this.allow = allow;
  }
}

/** Options and durations that do not fit are mistakes of the client. Everything else is a fault of ours. */
export function problemOf(thrown: unknown): Problem {
  if (thrown instanceof Problem) return thrown;
  if (thrown instanceof OperatorError) return new Problem(400, thrown.message, thrown.nextStep);
  return new Problem(500, 'the control endpoint failed', 'Look into the output of `holdfast testenv` for the cause.');
}
