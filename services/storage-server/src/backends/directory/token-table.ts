import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describeError, OperatorError } from '@holdfast/platform';

const FILE = 'tokens.sqlite';
const LOCKED = /database is locked/;

/** The greatest token of every volume. It is also the lock of the directory: one process has it at a time. */
export class TokenTable {
  readonly #database: DatabaseSync;

  private constructor(database: DatabaseSync) {
    this.#database = database;
  }

  static open(directory: string): TokenTable {
    try {
      const database = new DatabaseSync(join(directory, FILE));
      database.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = DELETE; PRAGMA synchronous = EXTRA');
      database.exec('BEGIN EXCLUSIVE; COMMIT');
      database.exec('CREATE TABLE IF NOT EXISTS tokens (volume TEXT PRIMARY KEY, token INTEGER NOT NULL) STRICT');
      return new TokenTable(database);
    } catch (error) {
      throw openError(directory, error);
    }
  }

  all(): ReadonlyMap<string, number> {
    const rows = this.#database.prepare('SELECT volume, token FROM tokens').all();
    return new Map(rows.map(({ volume, token }) => [String(volume), Number(token)]));
  }

  /** On the disk when it returns. */
  save(volume: string, token: number): void {
    const text =
      'INSERT INTO tokens (volume, token) VALUES (?, ?) ON CONFLICT (volume) DO UPDATE SET token = max(token, excluded.token)';
    this.#database.prepare(text).run(volume, token);
  }

  close(): void {
    this.#database.close();
  }
}

function openError(directory: string, cause: unknown): OperatorError {
  const isLocked = LOCKED.test(describeError(cause));
  return new OperatorError({
    code: isLocked ? 'DATA_IN_USE' : 'DATA_UNUSABLE',
    message: `The data directory ${directory} cannot be used: ${isLocked ? 'another storage server uses it' : describeError(cause)}.`,
    nextStep: isLocked
      ? 'Stop the other server, or give this one a data directory of its own.'
      : 'Check that it is on a working disk and that this user may write to it; a damaged tokens.sqlite must be restored.',
    cause,
  });
}
