import { OperatorError } from '@holdfast/platform';
import { RuntimeError, type RuntimeErrorCode } from './port.ts';

/** Failures that the clients of all container runtimes share. */

export function isCode(error: unknown, code: RuntimeErrorCode): boolean {
  return error instanceof RuntimeError && error.code === code;
}

/** A missing object needs no removal or stop. */
export async function unlessGone(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!isCode(error, 'NotFound')) throw error;
  }
}

export const closedError = (): RuntimeError => new RuntimeError('Unavailable', 'the runtime client is closed');

export const unconfirmed = (id: string): RuntimeError =>
  new RuntimeError('Unconfirmed', `container ${id} was stopped and still exists`);

/** The path of a socket from the setting that names it. `what` answers there, for example at `example`. */
export function socketPath(
  endpoint: string,
  { what, example }: { readonly what: string; readonly example: string },
): string {
  const path = endpoint.replace(/^unix:(\/\/)?/, '');
  if (path.startsWith('/')) return path;
  throw new OperatorError({
    code: 'BadSetting',
    message: `"${endpoint}" is not the socket of ${what}`,
    nextStep: `Write --container-runtime-endpoint unix://${example}.`,
    exitCode: 2,
  });
}
