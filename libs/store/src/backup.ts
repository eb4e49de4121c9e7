import { createHash, type Hash } from 'node:crypto';
import type { Revision, StoredObject } from './port.ts';

/**
 * A backup: lines of JSON. The first one says what follows, then one line for each object, and the last one has the
 * hash of all bytes before it. So a file that was cut or changed anywhere is known.
 */
export const BACKUP_FORMAT = 'holdfast-backup/1';

/** All objects of a store at one revision. */
export interface StoreContent {
  readonly objects: readonly StoredObject[];
  readonly revision: Revision;
}

export interface BackupHead {
  readonly format: typeof BACKUP_FORMAT;
  readonly revision: Revision;
  readonly objects: number;
  /** RFC 3339. */
  readonly takenAt: string;
}

/** Yields the lines, each with its line break. */
export function* backupLines({ objects, revision }: StoreContent, takenAt: string): Generator<string> {
  const hash = createHash('sha256');
  const line = (value: unknown): string => {
    const text = `${JSON.stringify(value)}\n`;
    hash.update(text);
    return text;
  };
  const head: BackupHead = { format: BACKUP_FORMAT, revision, objects: objects.length, takenAt };
  yield line(head);
  for (const each of objects) yield line([each.key, each.revision, each.createRevision, each.value]);
  yield `${JSON.stringify({ sha256: hash.digest('hex') })}\n`;
}

/** The text is no backup, or a damaged one. */
export class BackupDamaged extends Error {
  override readonly name = 'BackupDamaged';
}

/** Reads a backup line by line and verifies it. Throws `BackupDamaged`. */
export class BackupReader {
  readonly #hash: Hash = createHash('sha256');
  readonly #objects: StoredObject[] = [];
  #head: BackupHead | undefined;
  #isComplete = false;

  /** How many objects were read, and how many there are once the first line is known. */
  get progress(): { readonly done: number; readonly total: number | undefined } {
    return { done: this.#objects.length, total: this.#head?.objects };
  }

  /** Without the line break. */
  add(text: string): void {
    if (this.#isComplete) throw new BackupDamaged('something follows its last line');
    if (this.#head === undefined) this.#head = headOf(text);
    else if (this.#objects.length === this.#head.objects) {
      this.#verify(text);
      return;
    } else this.#objects.push(this.#objectOf(text, this.#head.revision));
    this.#hash.update(text).update('\n');
  }

  end(): StoreContent & { readonly head: BackupHead } {
    if (this.#head === undefined) throw new BackupDamaged('it is empty');
    if (!this.#isComplete)
      throw new BackupDamaged(`it ends after ${this.#objects.length} of ${this.#head.objects} objects`);
    return { objects: this.#objects, revision: this.#head.revision, head: this.#head };
  }

  #verify(text: string): void {
    const { sha256 } = (jsonOf(text) ?? {}) as { readonly sha256?: unknown };
    if (sha256 !== this.#hash.digest('hex')) throw new BackupDamaged('its hash is wrong');
    this.#isComplete = true;
  }

  #objectOf(text: string, newest: Revision): StoredObject {
    const parts = jsonOf(text);
    const [key, revision, createRevision, value] = Array.isArray(parts) ? parts : [];
    const isObject =
      typeof key === 'string' && isRevision(revision) && isRevision(createRevision) && typeof value === 'string';
    if (isObject && createRevision <= revision && revision <= newest) return { key, revision, createRevision, value };
    throw new BackupDamaged(`line ${this.#objects.length + 2} is not an object`);
  }
}

const isRevision = (value: unknown): value is Revision =>
  typeof value === 'number' && Number.isSafeInteger(value) && value > 0;

function headOf(text: string): BackupHead {
  const head = (jsonOf(text) ?? {}) as Partial<Omit<BackupHead, 'format'>> & { readonly format?: string };
  const { format, revision, objects, takenAt } = head;
  if (format === undefined) throw new BackupDamaged('it does not begin like one');
  if (format !== BACKUP_FORMAT)
    throw new BackupDamaged(`its format is ${JSON.stringify(format)}, not ${BACKUP_FORMAT}`);
  const isCount = typeof objects === 'number' && Number.isSafeInteger(objects) && objects >= 0;
  if (isCount && (revision === 0 || isRevision(revision)) && typeof takenAt === 'string') {
    return { format: BACKUP_FORMAT, revision, objects, takenAt };
  }
  throw new BackupDamaged('its first line is wrong');
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
