import { StatusError } from '@holdfast/machinery';
import { describeError, OperatorError } from '@holdfast/platform';
import type { Terminal } from './command.ts';
import { PLAIN } from './terminal/paint.ts';

const OUR_FAULT = 70;

/** Tells why a command failed, and answers its exit code. */
export function explain(error: unknown, { tell, paintTold = PLAIN }: Terminal): number {
  if (error instanceof OperatorError) {
    tell(`${paintTold.bad('holdfast:')} ${error.message}\n  ${error.nextStep}`);
    return error.exitCode;
  }
  if (error instanceof StatusError) {
    tell(`${paintTold.bad('holdfast:')} the API server refused (${error.reason ?? error.code}): ${error.message}`);
    return 1;
  }
  tell(
    `${paintTold.bad('holdfast:')} unexpected failure\n${error instanceof Error ? error.stack : describeError(error)}`,
  );
  return OUR_FAULT;
}
