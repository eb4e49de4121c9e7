import { createHash } from 'node:crypto';
import { type Clock, describeError, type Log } from '@holdfast/platform';
import type { Change, Revision, Store, StoreKey } from '@holdfast/store';
import {
  AUTHORS_AHEAD_MAX,
  AUTHORS_TOLD_MAX,
  HISTORY_CAUGHT_UP_MAX,
  HISTORY_PENDING_CHARS_MAX,
  HISTORY_SEGMENT_CHARS,
  HISTORY_SEGMENT_MS,
} from '../limits.ts';
import type { Written } from './author-note.ts';
import { OpenBatch, type RefusedWrite } from './open-batch.ts';
import { ReadsByUser } from './reads-by-user.ts';
import type { Authorship, HistoryRecord } from './record.ts';
import { SeenRevisions } from './seen.ts';
import { type Segment, SegmentLog } from './segment-log.ts';
import type { SegmentStore } from './segment-store.ts';

export interface HistoryOptions {
  readonly segments: SegmentStore;
  readonly retentionMs: number;
  readonly limitBytes: number;
}

export interface HistoryDeps extends HistoryOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
}

/** The history at one moment: segments, and the records that are not in a segment yet. */
export interface Sight {
  /** The state at this revision and at every later one is known. */
  readonly oldest: Revision;
  readonly oldestAt: number;
  readonly newest: Revision;
  readonly newestAt: number;
  readonly segments: readonly Segment[];
  readonly records: readonly HistoryRecord[];
}

/**
 * Every revision, who wrote it and what they had seen. The watch cache brings each change in the turn in which it
 * applies it; the records become a segment when they are many or old. There are no timers.
 */
export class History {
  readonly seen = new SeenRevisions();
  readonly reads = new ReadsByUser();
  readonly options: HistoryOptions;
  readonly #deps: HistoryDeps;
  readonly #log: SegmentLog;
  /** The last one is open. The one before waits, so that its last writers have their answers. */
  #batches: OpenBatch[] = [];
  #begun = 0;
  readonly #authorships = new Map<Revision, Authorship>();
  /** Set while other API servers are told. */
  onWrote: ((written: Written) => void) | undefined;
  onRefused: ((write: RefusedWrite) => void) | undefined;
  #lineage: string | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(deps: HistoryDeps) {
    this.#deps = deps;
    this.options = deps;
    this.#log = new SegmentLog(deps);
  }

  /** The cache has loaded the store and follows its changes from this revision on. Never rejects. */
  async resume(loadedAt: Revision): Promise<void> {
    const isFirst = this.#lineage === undefined;
    this.#lineage ??= lineageOf(this.#deps.store);
    if (isFirst) await this.#log.open(this.#lineage);
    const known = this.#log.newest?.head;
    const isComplete = isFirst && known !== undefined && (await this.#catchUp(known.last, known.endedAt, loadedAt));
    if (!isComplete) await this.#beginAnew(loadedAt);
  }

  /** Takes the changes that an earlier process has not recorded. False when they are not all known. */
  async #catchUp(known: Revision, at: number, loadedAt: Revision): Promise<boolean> {
    if (known > loadedAt || loadedAt - known > HISTORY_CAUGHT_UP_MAX) return false;
    this.#batches = [new OpenBatch(known, at)];
    if (known === loadedAt) return true;
    const ending = new AbortController();
    try {
      const { signal } = ending;
      for await (const changes of this.#deps.store.changes({ after: known, signal })) {
        for (const change of changes) {
          if (change.revision > loadedAt) return true;
          if (!this.#take(change, change.previousValue, at)) return false;
        }
        if ((changes.at(-1)?.revision ?? 0) >= loadedAt) return true;
      }
    } catch (error) {
      this.#deps.log.info('the history cannot be continued and begins anew', { error: describeError(error) });
    } finally {
      ending.abort();
    }
    return false;
  }

  async #beginAnew(from: Revision): Promise<void> {
    this.#batches = [new OpenBatch(from, this.#deps.clock.now())];
    this.#begun = 0;
    this.#authorships.clear();
    await this.#log.clear();
  }

  /** A state that cannot be known in hindsight: nothing before this revision can be listed any more. */
  lost(from: Revision): void {
    this.#deps.log.warn('the history has a gap and begins anew', { revision: from });
    // Now: a list that undoes the changes after a gap would be wrong.
    const cleared = this.#log.clear();
    this.#writing = this.#writing.then(() => cleared);
    this.#batches = [new OpenBatch(from, this.#deps.clock.now())];
    this.#begun = 0;
    this.#authorships.clear();
  }

  /** `before` is the text of the state that the change replaced. */
  record(change: Change, before: string | undefined): void {
    if (!this.#take(change, before, this.#deps.clock.now())) this.lost(change.revision);
  }

  #take(change: Change, before: string | undefined, now: number): boolean {
    const open = this.#batches.at(-1);
    if (open === undefined) return true;
    const { key, previousRevision, revision } = change;
    if (key.startsWith(UNREADABLE)) return false;
    if (key.startsWith(INTERNAL)) open.passed(revision, now);
    else {
      const isLeftOut = this.leavesOut(key);
      if (before === undefined && previousRevision !== 0 && !isLeftOut) return false;
      open.add(change, before ?? '', { now, isLeftOut });
    }
    this.#rollWhenDue(open, now);
    return true;
  }

  /** Contents of encrypted resources never leave the store, and those of Secrets in no case. */
  leavesOut(key: StoreKey): boolean {
    return key.startsWith(SECRETS) || this.#deps.store.atRest?.covers(key) === true;
  }

  /** The answer shows the writer its own state, too. */
  wrote(first: Revision, last: Revision, authorship: Authorship): void {
    const { author, resource } = authorship;
    this.seen.of(author.user, author.userAgent).note(resource, first);
    for (let revision = first; revision <= last; revision++) this.#authorships.set(revision, authorship);
    this.onWrote?.({ first, last, authorship });
  }

  /** Another API server has written, as it says. It may say so before the change comes here, or after it. */
  told({ first, last, authorship }: Written): void {
    const [batch] = this.#batches;
    const newest = this.#batches.at(-1)?.last ?? 0;
    if (batch === undefined || last > newest + AUTHORS_AHEAD_MAX) return;
    // What is in a segment already stays as it is.
    for (let revision = Math.max(first, batch.from + 1); revision <= last; revision++) {
      if (this.#authorships.size >= AUTHORS_TOLD_MAX) return;
      if (!this.#authorships.has(revision)) this.#authorships.set(revision, authorship);
    }
  }

  /** Names the store without its secret. Undefined before the cache is loaded. */
  get lineage(): string | undefined {
    return this.#lineage;
  }

  refused(write: RefusedWrite): void {
    this.toldRefused(write);
    this.onRefused?.(write);
  }

  /** Another API server has refused a write, as it says. It stands at the moment in which this one hears of it. */
  toldRefused(write: RefusedWrite): void {
    const open = this.#batches.at(-1);
    // Without a change there is no segment, however many are refused.
    if (open === undefined || open.chars > HISTORY_SEGMENT_CHARS) return;
    const now = this.#deps.clock.now();
    open.refused(write, now);
    this.#rollWhenDue(open, now);
  }

  #rollWhenDue(open: OpenBatch, now: number): void {
    const isDue = open.chars > HISTORY_SEGMENT_CHARS || now - open.beganAt > HISTORY_SEGMENT_MS;
    if (isDue && open.last > open.from) this.#roll(now, 2);
  }

  /** `rest`: how many batches are not written yet. */
  #roll(now: number, rest: number): void {
    const pending = this.#batches.reduce((sum, { chars }) => sum + chars, 0);
    const last = this.#batches.at(-1)?.last ?? 0;
    if (pending > HISTORY_PENDING_CHARS_MAX) return this.lost(last);
    this.#batches = [...this.#batches, new OpenBatch(last, now)];
    for (; this.#begun < this.#batches.length - rest; this.#begun++) {
      const batch = this.#batches[this.#begun];
      if (batch !== undefined) this.#writing = this.#writing.then(() => this.#write(batch));
    }
  }

  async #write(batch: OpenBatch): Promise<void> {
    if (!this.#batches.includes(batch)) return;
    batch.attribute(this.#authorships);
    const isKept = await this.#log.append(batch, this.#lineage ?? '');
    if (!this.#batches.includes(batch)) return;
    if (!isKept) return this.lost(this.#batches.at(-1)?.last ?? batch.last);
    this.#batches = this.#batches.filter((each) => each !== batch);
    this.#begun--;
    for (const revision of this.#authorships.keys()) if (revision <= batch.last) this.#authorships.delete(revision);
    await this.#log.retain(this.#deps.clock.now());
  }

  /** Everything up to now becomes a segment. On virtual time nobody may wait for other threads. */
  async close(): Promise<void> {
    if (!this.#deps.segments.isLasting) return;
    if ((this.#batches.at(-1)?.records.length ?? 0) > 0 || this.#batches.length > 1)
      this.#roll(this.#deps.clock.now(), 1);
    await this.#writing;
  }

  get bytes(): number {
    return this.#log.bytes;
  }

  /** `undefined` before the cache is loaded. Everything in it is of one turn. */
  sight(): Sight | undefined {
    const [first] = this.#batches;
    const open = this.#batches.at(-1);
    if (first === undefined || open === undefined) return undefined;
    void this.#log.retain(this.#deps.clock.now());
    for (const batch of this.#batches) batch.attribute(this.#authorships);
    const segments = this.#log.kept;
    const oldest = segments[0]?.head ?? first;
    return {
      oldest: oldest.from,
      oldestAt: oldest.beganAt,
      newest: open.last,
      newestAt: open.endedAt,
      segments,
      records: this.#batches.flatMap(({ records }) => records),
    };
  }

  /** Throws `HistoryGone`. */
  recordsOf(segment: Segment, prefix: string): Promise<readonly HistoryRecord[]> {
    return this.#log.recordsOf(segment, prefix);
  }
}

const SECRETS = 'core/secrets/';
const INTERNAL = 'internal.holdfast/';
/** In place of a change that cannot be decrypted: the cache does not show the object, either. */
const UNREADABLE = 'internal.holdfast/unreadable/';

/** Names the lineage without its secret. */
function lineageOf(store: Store): string {
  const { incarnation, epoch } = store.lineage();
  return `${createHash('sha256').update(incarnation).digest('base64url').slice(0, 16)}.${epoch}`;
}
