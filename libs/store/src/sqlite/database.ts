import { chmodSync, closeSync, existsSync, fsyncSync, mkdirSync, openSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { describeError } from '@holdfast/platform/errors';
import { invariant } from '@holdfast/platform/invariant';
import type { StoreContent } from '../backup.ts';
import { ADOPTION_JUMP, SQLITE_CHECKPOINT_PAGES, SQLITE_COMPACT_REVISIONS } from '../limits.ts';
import type { Lineage, Revision } from '../port.ts';
import { isChangeKind, wholeNumber } from './cells.ts';
import { FileWatch } from './file-watch.ts';
import type { ChangeRow, OpenFailure, RowColumns, ThreadStart } from './protocol.ts';
import { readColumns } from './row-columns.ts';

export const DATABASE_FILE = 'store.sqlite';
/** The data format of this code. */
export const FORMAT = 1;
/** "HLDF" distinguishes a database of this store from any other. */
const APPLICATION_ID = 0x484c4446;

/**
 * One table: every change is a row, and the newest row of a key is its object. A write appends one row. A compaction
 * removes tombstones and rows that a kept change has replaced.
 */
const SCHEMA = `
  CREATE TABLE changes (
    revision INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    previous_revision INTEGER NOT NULL,
    create_revision INTEGER NOT NULL,
    write_id TEXT
  ) STRICT;
  CREATE TABLE progress (name TEXT PRIMARY KEY, revision INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  INSERT INTO progress VALUES ('compacted', 0), ('trimmed', 0);
  PRAGMA application_id = ${APPLICATION_ID};
  PRAGMA user_version = ${FORMAT};
`;

/** One row. A database of a version without it gets it when it is opened. */
const LINEAGE_SCHEMA = `
  CREATE TABLE IF NOT EXISTS lineage (incarnation TEXT NOT NULL, epoch INTEGER NOT NULL, halted TEXT) STRICT;
`;

const COLUMNS = 'revision, kind, key, value, previous_revision, create_revision, write_id';

const PRIVATE_DIRECTORY = 0o700;
const PRIVATE_FILE = 0o600;
/** SQLite creates these files with the mode of the database. */
const BESIDE = ['', '-wal', '-shm'];

/** The files contain every Secret. Existing files get the mode, too. */
function closeToOthers(database: string): void {
  closeSync(openSync(database, 'a', PRIVATE_FILE));
  for (const file of BESIDE.map((suffix) => `${database}${suffix}`))
    if (existsSync(file) && (statSync(file).mode & 0o077) !== 0) chmodSync(file, PRIVATE_FILE);
}

export class OpenError extends Error {
  override readonly name = 'OpenError';
  readonly failure: OpenFailure;
  constructor(failure: OpenFailure, options?: ErrorOptions) {
    super(failure.message, options);
    this.failure = failure;
  }
}

/** The database file, used synchronously by one thread. Every writing call is one durable transaction. */
export class ChangeDatabase {
  readonly #database: DatabaseSync;
  readonly #insert: StatementSync;
  readonly #select: StatementSync;
  readonly #files: FileWatch;

  private constructor(database: DatabaseSync, file: string) {
    this.#database = database;
    this.#files = new FileWatch([file, `${file}-wal`]);
    this.#insert = database.prepare(`INSERT INTO changes (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)`);
    this.#select = database.prepare(`SELECT ${COLUMNS} FROM changes WHERE revision > ? ORDER BY revision LIMIT ?`);
  }

  /** Throws `OpenError`. */
  static open({ directory, incarnation }: ThreadStart): ChangeDatabase {
    try {
      mkdirSync(directory, { recursive: true, mode: PRIVATE_DIRECTORY });
      closeToOthers(join(directory, DATABASE_FILE));
      const file = join(directory, DATABASE_FILE);
      const database = new DatabaseSync(file);
      try {
        prepareFile(database);
        prepareLineage(database, incarnation);
        syncDirectory(directory);
        return new ChangeDatabase(database, file);
      } catch (error) {
        database.close();
        throw error;
      }
    } catch (error) {
      throw error instanceof OpenError ? error : new OpenError(failureOf(error, directory), { cause: error });
    }
  }

  lineage(): Lineage {
    const row = this.#database.prepare('SELECT incarnation, epoch FROM lineage').get();
    return { incarnation: String(row?.['incarnation']), epoch: wholeNumber(row?.['epoch']) };
  }

  /** The reason why these data may not be used. */
  halted(): string | undefined {
    const reason = this.#database.prepare('SELECT halted FROM lineage').get()?.['halted'];
    return typeof reason === 'string' ? reason : undefined;
  }

  halt(reason: string): void {
    this.#database.prepare('UPDATE lineage SET halted = ?').run(reason);
    this.#files.remember();
  }

  /**
   * Begins the next epoch with the current data. Its revisions are above all that any client has seen, and no watch
   * resumes from an earlier one. Returns the new current revision.
   */
  adopt(): Revision {
    const current = Math.max(this.newest(), this.compacted());
    const revision = current + ADOPTION_JUMP;
    this.#transaction(() => this.#beginEpoch(revision));
    return revision;
  }

  /** Puts these objects into an empty database, and adopts them. Undefined: it is not empty. */
  restore({ objects, revision }: StoreContent): Revision | undefined {
    if (this.newest() > 0 || this.compacted() > 0) return undefined;
    const adopted = revision + ADOPTION_JUMP;
    this.#transaction(() => {
      for (const { key, value, revision: at, createRevision } of objects) {
        const [kind, previous] = at === createRevision ? ['created', 0] : ['updated', createRevision];
        this.#insert.run(at, kind, key, value, previous, createRevision, null);
      }
      this.#beginEpoch(adopted);
    });
    return adopted;
  }

  #beginEpoch(revision: Revision): void {
    this.#database.prepare('UPDATE lineage SET epoch = epoch + 1, halted = NULL').run();
    this.#database.prepare(`UPDATE progress SET revision = ? WHERE name = 'compacted'`).run(revision);
  }

  /** Throws `FilesReplaced` when another process wrote the files since this thread did. */
  assertOwnFiles(): void {
    const changed = this.#files.changed();
    if (changed !== undefined) throw new FilesReplaced(changed);
  }

  /** Throws when nothing was written; `isInDoubt` tells whether that is certain. */
  commit(rows: readonly ChangeRow[]): void {
    this.#transaction(() => {
      for (const row of rows) {
        const { revision, kind, key, value, previousRevision, createRevision, writeId } = row;
        this.#insert.run(revision, kind, key, value, previousRevision, createRevision, writeId);
      }
    });
  }

  rowsAfter(after: Revision, limit: number): ChangeRow[] {
    return this.#select.all(after, limit).map(decodeRow);
  }

  /** All rows in revision order, at most `rows` at a time. */
  columns(rows: number): Iterable<RowColumns> {
    return readColumns(this.#database, rows);
  }

  /** Revision of the last row; 0 without rows. */
  newest(): Revision {
    const last = this.#database.prepare('SELECT max(revision) AS last FROM changes').get()?.['last'];
    return typeof last === 'number' ? last : 0;
  }

  compacted(): Revision {
    return this.#progress('compacted');
  }

  /**
   * Hides history up to this revision. It must precede the removal of rows, so that a crash in between loses nothing.
   */
  markCompacted(upTo: Revision): void {
    this.#database.prepare(`UPDATE progress SET revision = max(revision, ?) WHERE name = 'compacted'`).run(upTo);
    this.#files.remember();
  }

  /** Removes some of the rows that are neither history nor an object any more. Returns true when more remain. */
  trim(): boolean {
    const compacted = this.#progress('compacted');
    const from = this.#progress('trimmed');
    const upTo = this.#trimPoint(from, compacted);
    if (upTo <= from) return false;
    this.#transaction(() => {
      const replaced = `SELECT previous_revision FROM changes WHERE revision > ? AND revision <= ?`;
      this.#database.prepare(`DELETE FROM changes WHERE revision IN (${replaced})`).run(from, upTo);
      this.#database
        .prepare(`DELETE FROM changes WHERE kind = 'deleted' AND revision > ? AND revision <= ?`)
        .run(from, upTo);
      this.#database.prepare(`UPDATE progress SET revision = ? WHERE name = 'trimmed'`).run(upTo);
    });
    return upTo < compacted;
  }

  /** Examines a limited number of revisions at once. Skipped revisions, which an adoption leaves, cost nothing. */
  #trimPoint(from: Revision, compacted: Revision): Revision {
    const next = this.#database.prepare('SELECT min(revision) AS next FROM changes WHERE revision > ?').get(from)?.[
      'next'
    ];
    if (typeof next !== 'number' || next > compacted) return compacted;
    return Math.min(compacted, Math.max(from, next - 1) + SQLITE_COMPACT_REVISIONS);
  }

  /** Copies the missing content of the log file into the database. */
  checkpoint(): void {
    if (this.#files.changed() !== undefined) return;
    this.#database.exec('PRAGMA wal_checkpoint(PASSIVE)');
    this.#files.remember();
  }

  close(): void {
    this.#database.close();
  }

  #progress(name: 'compacted' | 'trimmed'): Revision {
    const row = this.#database.prepare('SELECT revision FROM progress WHERE name = ?').get(name);
    return wholeNumber(row?.['revision']);
  }

  #transaction(body: () => void): void {
    this.#database.exec('BEGIN');
    try {
      body();
    } catch (error) {
      this.#database.exec('ROLLBACK');
      throw error;
    }
    try {
      this.#database.exec('COMMIT');
    } catch (error) {
      throw new CommitError(error);
    } finally {
      this.#files.remember();
    }
  }
}

/** Another process wrote the files of the open database. */
export class FilesReplaced extends Error {
  override readonly name = 'FilesReplaced';
  constructor(file: string) {
    super(`${file} was replaced or written by another program while it was in use`);
  }
}

/** The commit itself failed. The transaction may or may not be there after a restart. */
export class CommitError extends Error {
  override readonly name = 'CommitError';
  constructor(cause: unknown) {
    super(`the end of a transaction failed: ${describeError(cause)}`, { cause });
  }
}

const SQLITE_BUSY = 5;
const SQLITE_IOERR = 10;
const SQLITE_CORRUPT = 11;
const SQLITE_NOTADB = 26;

/** True when the content of the file is uncertain after this error. */
export function isInDoubt(error: unknown): boolean {
  return error instanceof CommitError || [SQLITE_IOERR, SQLITE_CORRUPT, SQLITE_NOTADB].includes(sqliteCode(error) ?? 0);
}

function prepareFile(database: DatabaseSync): void {
  // Exclusive locking holds the lock of the file until the process ends, even after a crash. So no second instance can
  // open it.
  database.exec('PRAGMA locking_mode = EXCLUSIVE');
  database.exec('PRAGMA journal_mode = WAL');
  database.exec('PRAGMA synchronous = FULL');
  database.exec(`PRAGMA wal_autocheckpoint = ${SQLITE_CHECKPOINT_PAGES}`);
  database.exec('BEGIN EXCLUSIVE; COMMIT');
  const isNew = database.prepare('SELECT count(*) AS count FROM sqlite_schema').get()?.['count'] === 0;
  if (isNew) database.exec(`BEGIN; ${SCHEMA} COMMIT`);
  assertFormat(database);
  invariant(pragma(database, 'synchronous') === 2, 'every commit is synced');
}

function prepareLineage(database: DatabaseSync, incarnation: string): void {
  database.exec(LINEAGE_SCHEMA);
  const insert = 'INSERT INTO lineage SELECT ?, 1, NULL WHERE NOT EXISTS (SELECT 1 FROM lineage)';
  database.prepare(insert).run(incarnation);
}

function assertFormat(database: DatabaseSync): void {
  if (pragma(database, 'application_id') !== APPLICATION_ID) {
    throw new OpenError({ reason: 'foreign', message: 'the database belongs to another application' });
  }
  const format = pragma(database, 'user_version');
  if (format === FORMAT) return;
  const message = `it is of format ${String(format)}; this version reads format ${FORMAT}`;
  throw new OpenError({ reason: 'newerFormat', message });
}

function pragma(database: DatabaseSync, name: string): unknown {
  return database.prepare(`PRAGMA ${name}`).get()?.[name];
}

/** A new file survives a power cut only when its directory entry is on disk. */
function syncDirectory(directory: string): void {
  const descriptor = openSync(directory, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function failureOf(error: unknown, directory: string): OpenFailure {
  const text = error instanceof Error ? error.message : String(error);
  switch (sqliteCode(error) ?? 0) {
    case SQLITE_BUSY:
      return { reason: 'inUse', message: 'another instance is using it' };
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return { reason: 'damaged', message: text };
    default:
      return { reason: 'unusable', message: `${text} (${directory})` };
  }
}

/** Returns SQLite's primary result code; extended codes carry it in their lowest byte. */
function sqliteCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number') return undefined;
  return error.errcode & 0xff;
}

function decodeRow(row: Record<string, unknown>): ChangeRow {
  const { kind, key, value, write_id: writeId } = row;
  invariant(isChangeKind(kind) && typeof key === 'string' && typeof value === 'string', 'a row is a change');
  return {
    revision: wholeNumber(row['revision']),
    kind,
    key,
    value,
    previousRevision: wholeNumber(row['previous_revision']),
    createRevision: wholeNumber(row['create_revision']),
    writeId: typeof writeId === 'string' ? writeId : null,
  };
}
