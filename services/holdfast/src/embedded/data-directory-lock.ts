import { existsSync } from 'node:fs';
import path from 'node:path';
import { OperatorError } from '@holdfast/platform';

const BUSY = 5;
/** Much longer than somebody looks at the lock. */
const LOOK_MS = 200;

/**
 * Excludes every other instance until this process ends, even after a crash: two clusters in one directory would end
 * each other's pods, also when their objects are in memory or in Redis. It is an SQLite lock on a separate file, which
 * the system releases when the process ends.
 */
export async function lockDataDirectory(directory: string): Promise<{ release(): void }> {
  const { DatabaseSync } = await import('node:sqlite');
  try {
    const lock = new DatabaseSync(path.join(directory, 'lock'), { timeout: LOOK_MS });
    // Nothing is ever written, so no journal file is needed.
    lock.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
    return { release: () => lock.close() };
  } catch (cause) {
    throw refusal(directory, cause);
  }
}

/** Every start makes the lock first. */
export const hasLock = (directory: string): boolean => existsSync(path.join(directory, 'lock'));

/** Only looks: it excludes nobody who looks at the same time, and a start waits for it. */
export async function isDataDirectoryInUse(directory: string): Promise<boolean> {
  const { DatabaseSync } = await import('node:sqlite');
  const lock = new DatabaseSync(path.join(directory, 'lock'), { readOnly: true });
  try {
    lock.prepare('SELECT 1 FROM sqlite_schema').all();
    return false;
  } catch (error) {
    if (isBusy(error)) return true;
    throw error;
  } finally {
    lock.close();
  }
}

const isBusy = (error: unknown): boolean => error instanceof Error && 'errcode' in error && error.errcode === BUSY;

function refusal(directory: string, cause: unknown): OperatorError {
  return isBusy(cause)
    ? new OperatorError({
        code: 'DataDirectoryInUse',
        message: `The data directory ${directory} cannot be used: another instance is using it`,
        nextStep: 'Stop the other instance, or give this one a directory of its own with --data-dir.',
        cause,
      })
    : new OperatorError({
        code: 'DataDirectoryUnusable',
        message: `the data directory ${directory} cannot be written`,
        nextStep: 'Choose another one with --data-dir, or correct its permissions.',
        cause,
      });
}
