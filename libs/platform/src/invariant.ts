/**
 * Our own code broke a condition. It is never a user's mistake and never a fault of the environment. The checks stay on
 * in production.
 */
export class InvariantViolation extends Error {
  readonly details: Readonly<Record<string, unknown>>;
  constructor(message: string, details: Readonly<Record<string, unknown>> = {}) {
    super(`invariant violated: ${message}${Object.keys(details).length > 0 ? ` ${JSON.stringify(details)}` : ''}`);
    this.name = 'InvariantViolation';
    this.details = details;
  }
}

export function invariant(
  condition: unknown,
  message: string,
  details?: Readonly<Record<string, unknown>>,
): asserts condition {
  if (condition !== true && !condition) throw new InvariantViolation(message, details);
}

/** Ends an exhaustive switch: the compiler refuses it while a case is missing. */
export function unreachable(value: never): never {
  throw new InvariantViolation('unreachable case', { value });
}
