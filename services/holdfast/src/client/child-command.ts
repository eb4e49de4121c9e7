import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { describeError, OperatorError } from '@holdfast/platform';
import type { Terminal } from './command.ts';

/** Runs a program in the foreground: 128 and the number of the signal for one that a signal ended, as in a shell. */
export function exitCodeOf(program: string, args: readonly string[], env: Terminal['env']): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const child = spawn(program, args, { env, stdio: 'inherit' });
  const pass = (signal: NodeJS.Signals): void => void child.kill(signal);
  // A terminal sends Ctrl-C to the command itself; a second one would end it at once.
  const onInterrupt = process.stdin.isTTY ? (): void => {} : pass;
  process.on('SIGINT', onInterrupt).on('SIGTERM', pass).on('SIGHUP', pass);
  child.on('error', (error) => reject(notStarted(program, error)));
  child.once('exit', (code, signal) => resolve(code ?? 128 + constants.signals[signal ?? 'SIGKILL']));
  return promise.finally(() => {
    process.off('SIGINT', onInterrupt).off('SIGTERM', pass).off('SIGHUP', pass);
  });
}

const notStarted = (program: string, cause: Error): OperatorError =>
  new OperatorError({
    code: 'CommandNotStarted',
    message: `the command ${program} cannot be started: ${describeError(cause)}`,
    nextStep: 'Check its name and the PATH.',
    exitCode: 127,
    cause,
  });
