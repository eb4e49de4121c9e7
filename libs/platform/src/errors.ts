/**
 * A mistake of an operator, or a fault of the environment that an operator can correct: one sentence about what is
 * wrong and one with the next step. `main.ts` prints both and exits with `exitCode`. It never prints a stack for these.
 */
export class OperatorError extends Error {
  readonly code: string;
  readonly nextStep: string;
  readonly exitCode: number;
  constructor(init: { code: string; message: string; nextStep: string; exitCode?: number; cause?: unknown }) {
    super(init.message, init.cause === undefined ? undefined : { cause: init.cause });
    this.name = 'OperatorError';
    this.code = init.code;
    this.nextStep = init.nextStep;
    this.exitCode = init.exitCode ?? 1;
  }
}

/** Returns the text of any thrown value, with its chain of causes. */
export function describeError(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown);
  return thrown.cause === undefined ? thrown.message : `${thrown.message}: ${describeError(thrown.cause)}`;
}
