import type { Revision } from '../port.ts';
import { ChangeDatabase, OpenError } from './database.ts';
import { openError } from './open-errors.ts';

/**
 * Ends a halt: continues with the data of this directory in a new epoch. The process that uses them must have ended.
 */
export function adoptSqliteStore(directory: string, incarnation: string): Revision {
  try {
    const database = ChangeDatabase.open({ directory, incarnation });
    try {
      return database.adopt();
    } finally {
      database.close();
    }
  } catch (error) {
    if (error instanceof OpenError) throw openError(directory, error.failure, error);
    throw error;
  }
}
