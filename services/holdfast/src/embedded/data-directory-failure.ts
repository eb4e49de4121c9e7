import path from 'node:path';
import { describeError, OperatorError } from '@holdfast/platform';

const NO_SPACE = 'Free some space on its disk';
const NO_RIGHTS = 'Correct its permissions';
const IN_THE_WAY = 'Remove the file that is in its place';

/** File system errors that an operator can correct. Any other error is a bug. */
const REMEDIES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ENOSPC: NO_SPACE,
    EDQUOT: NO_SPACE,
    EACCES: NO_RIGHTS,
    EPERM: NO_RIGHTS,
    EROFS: NO_RIGHTS,
    ENOTDIR: IN_THE_WAY,
    EISDIR: IN_THE_WAY,
    EEXIST: IN_THE_WAY,
    EIO: 'Check its disk',
  }),
);

/** The directory of a program's files, and the flag that names it. */
export interface NamedDirectory {
  readonly path: string;
  readonly flag: string;
}

/** Explains a file system error in this directory to an operator; returns any other error unchanged. */
export function explainFileFailure(directory: NamedDirectory, error: unknown): unknown {
  if (!(error instanceof Error) || !('code' in error)) return error;
  const remedy = REMEDIES.get(String(error.code));
  if (remedy === undefined || !isOfFileIn(directory.path, error)) return error;
  return new OperatorError({
    code: 'DataDirectoryUnusable',
    message: `the data directory ${directory.path} cannot be used: ${describeError(error)}`,
    nextStep: `${remedy}, or choose another one with ${directory.flag}.`,
    cause: error,
  });
}

/** Runs code that uses the directory. */
export const withFailuresExplained = (directory: NamedDirectory, run: () => Promise<void>): Promise<void> =>
  run().catch((error: unknown) => {
    throw explainFileFailure(directory, error);
  });

/** Once a file is open, errors do not name it: the caller opens only files of its directory. */
function isOfFileIn(directory: string, error: Error): boolean {
  if ('path' in error && typeof error.path === 'string') {
    return `${path.resolve(error.path)}${path.sep}`.startsWith(`${directory}${path.sep}`);
  }
  return 'syscall' in error && (error.syscall === 'read' || error.syscall === 'write');
}
