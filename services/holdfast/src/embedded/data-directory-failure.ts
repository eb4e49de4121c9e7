import path from 'node:path';
import { describeError, OperatorError } from '@holdfast/platform';

const NO_SPACE = 'Free some space on its disk, or choose another one with --data-dir.';
const NO_RIGHTS = 'Choose another one with --data-dir, or mend its permissions.';
const IN_THE_WAY = 'Choose another one with --data-dir, or remove what is in the way there.';

/** What a file system refuses and an operator can mend. Anything else is a mistake of ours. */
const NEXT_STEPS: Readonly<Record<string, string>> = {
  ENOSPC: NO_SPACE,
  EDQUOT: NO_SPACE,
  EACCES: NO_RIGHTS,
  EPERM: NO_RIGHTS,
  EROFS: NO_RIGHTS,
  ENOTDIR: IN_THE_WAY,
  EISDIR: IN_THE_WAY,
  EEXIST: IN_THE_WAY,
  EIO: 'Check its disk, or choose another one with --data-dir.',
};

/** A failure of the file system at the files of a data directory, in words for an operator; any other is answered as it is. */
export function explainFileFailure(directory: string, error: unknown): unknown {
  if (!(error instanceof Error) || !('code' in error)) return error;
  const nextStep = NEXT_STEPS[String(error.code)];
  if (nextStep === undefined || !isOfFileIn(directory, error)) return error;
  return new OperatorError({
    code: 'DataDirectoryUnusable',
    message: `the data directory ${directory} cannot be used: ${describeError(error)}`,
    nextStep,
    cause: error,
  });
}

/** Runs a start that uses the directory. */
export const withFailuresExplained = (directory: string, start: () => Promise<void>): Promise<void> =>
  start().catch((error: unknown) => {
    throw explainFileFailure(directory, error);
  });

/** Once a file is open, errors do not say which one it is: a start opens those of its data directory only. */
function isOfFileIn(directory: string, error: Error): boolean {
  if ('path' in error && typeof error.path === 'string') {
    return `${error.path}${path.sep}`.startsWith(`${directory}${path.sep}`);
  }
  return 'syscall' in error && (error.syscall === 'read' || error.syscall === 'write');
}
