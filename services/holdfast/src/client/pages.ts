import { writeFile } from 'node:fs/promises';
import { describeError, OperatorError } from '@holdfast/platform';

/** Writes a page that a person named with --html. */
export async function writePage(file: string, page: string): Promise<void> {
  try {
    await writeFile(file, page);
  } catch (error) {
    throw new OperatorError({
      code: 'PageUnwritable',
      message: `${file} cannot be written: ${describeError(error)}`,
      nextStep: 'Name a file in a folder that you may write to with --html.',
      cause: error,
    });
  }
}
