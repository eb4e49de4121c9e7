import type { Change, Revision, StoreKey } from '@holdfast/store';
import type { Authorship, HistoryBatch, HistoryRecord } from './record.ts';

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

export interface RefusedWrite {
  readonly key: StoreKey;
  readonly reason: string;
  readonly authorship: Authorship;
}

/** The changes since the last segment, and who made them. The texts are the instances of cache and store. */
export class OpenBatch implements HistoryBatch {
  readonly from: Revision;
  readonly records: Mutable<HistoryRecord>[] = [];
  readonly beganAt: number;
  #endedAt: number;
  #last: Revision;
  #chars = 0;
  readonly #touched = new Set<StoreKey>();

  constructor(from: Revision, now: number) {
    this.from = from;
    this.#last = from;
    this.beganAt = now;
    this.#endedAt = now;
  }

  get last(): Revision {
    return this.#last;
  }

  get endedAt(): number {
    return this.#endedAt;
  }

  /** About what the texts take. */
  get chars(): number {
    return this.#chars;
  }

  /** `before` is the state that the change replaced; '' where contents are left out. */
  add(change: Change, before: string, { now, isLeftOut }: { readonly now: number; readonly isLeftOut: boolean }): void {
    const { revision, kind, key, previousRevision } = change;
    const value = isLeftOut ? '' : change.value;
    const first = isLeftOut || this.#touched.has(key) ? '' : before;
    this.#touched.add(key);
    const known = { reason: '', authorship: undefined };
    this.records.push({ revision, at: now, kind, key, previousRevision, value, before: first, ...known });
    this.#chars += value.length + first.length + RECORD_CHARS;
    this.passed(revision, now);
  }

  /** A change of an object that no client can name. */
  passed(revision: Revision, now: number): void {
    this.#last = revision;
    this.#endedAt = now;
  }

  /** Writers get their answers about when the change comes: authors are joined later. */
  attribute(authorships: ReadonlyMap<Revision, Authorship>): void {
    for (const record of this.records) record.authorship ??= authorships.get(record.revision);
  }

  refused({ key, reason, authorship }: RefusedWrite, now: number): void {
    const nothing = { previousRevision: 0, value: '', before: '' };
    this.records.push({ revision: this.#last, at: now, kind: 'refused', key, reason, authorship, ...nothing });
    this.#chars += key.length + reason.length + RECORD_CHARS;
    this.#endedAt = now;
  }
}

/** What a record takes beside its texts. */
const RECORD_CHARS = 200;
