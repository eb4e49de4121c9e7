import { InvariantViolation } from '@holdfast/platform';
import { SimulationFailure } from '@holdfast/testing';

/** The finding: the same rule violated by a smaller schedule counts as equal. */
export interface Violation {
  readonly rule: string;
  readonly story: string;
}

export function violationOf(error: unknown): Violation {
  if (error instanceof SimulationFailure) return { rule: error.oracle, story: error.message };
  if (error instanceof InvariantViolation) return { rule: `invariant: ${error.message}`, story: String(error.stack) };
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  return { rule: `crash: ${message}`, story: stack ?? message };
}
