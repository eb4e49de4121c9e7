import { OperatorError } from '@holdfast/platform';
import type { StoreContent } from '../backup.ts';
import type { Revision } from '../port.ts';
import { ChangeDatabase, OpenError } from './database.ts';
import { openError } from './open-errors.ts';

/**
 * Puts these objects into the empty store of this directory, in a new epoch above all their revisions. All or nothing,
 * also when the process is killed.
 */
export function restoreSqliteStore(directory: string, incarnation: string, content: StoreContent): Revision {
  try {
    const database = ChangeDatabase.open({ directory, incarnation });
    try {
      const revision = database.restore(content);
      if (revision === undefined) throw notEmpty(directory);
      return revision;
    } finally {
      database.close();
    }
  } catch (error) {
    if (error instanceof OpenError) throw openError(directory, error.failure, error);
    throw error;
  }
}

const notEmpty = (directory: string): OperatorError =>
  new OperatorError({
    code: 'STORE_NOT_EMPTY',
    message: `The store in ${directory} has data, and nothing was restored`,
    nextStep: 'Name a new directory, or move the old one away.',
  });
