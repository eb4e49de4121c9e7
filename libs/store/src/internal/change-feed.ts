import { invariant } from '@holdfast/platform';
import { FEED_BATCH_CHANGES } from '../limits.ts';
import { type Change, Compacted, type Revision } from '../port.ts';
import { sizeOfChange } from './change-size.ts';

export interface ChangeFeedOptions {
  /** The newest revision that was committed before this feed began. */
  readonly start: Revision;
  readonly maxChanges: number;
  readonly maxBytes: number;
  /**
   * Reads a range of history that this process no longer holds: the changes after `after`, never empty. Throws
   * `Compacted`. Absent when this feed is the whole history.
   */
  readonly readOlder?: (after: Revision) => Promise<readonly Change[]>;
}

interface Follower {
  wake: ((batch: readonly Change[] | undefined) => void) | undefined;
  interrupted: Error | undefined;
}

/**
 * The recent changes of this process and their followers. A follower holds a position, not a queue: one array serves
 * all followers of a change, and a slow follower costs nothing but its own delay.
 */
export class ChangeFeed {
  readonly #options: ChangeFeedOptions;
  readonly #followers = new Set<Follower>();
  #ring: Change[] = [];
  #head = 0;
  #bytes = 0;
  #floor: Revision;
  #last: Revision;
  /** The feed never delivers a change up to this revision, even when it arrives later. */
  #dropped: Revision = 0;
  #ended: Error | undefined;

  constructor(options: ChangeFeedOptions) {
    this.#options = options;
    this.#floor = options.start;
    this.#last = options.start;
  }

  /** The newest published revision. */
  get last(): Revision {
    return this.#last;
  }

  /** The lowest revision from which this process can serve followers. */
  get floor(): Revision {
    return this.#floor;
  }

  /** Size of the changes in memory. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Drops the oldest changes until the others take at most this many bytes. */
  shrinkTo(bytes: number): void {
    while (this.#bytes > bytes && this.#size > 0) this.#dropOldest();
  }

  publish(batch: readonly Change[]): void {
    for (const change of batch) {
      invariant(change.revision === this.#last + 1, 'the feed has no gap', { next: change.revision, last: this.#last });
      this.#last = change.revision;
      this.#ring.push(change);
      this.#bytes += sizeOfChange(change);
    }
    while (this.#size > this.#options.maxChanges || this.#bytes > this.#options.maxBytes) this.#dropOldest();
    this.#dropStale();
    for (const follower of this.#followers) follower.wake?.(batch);
  }

  /** Drops changes up to and including `revision`. */
  dropUpTo(revision: Revision): void {
    this.#dropped = Math.max(this.#dropped, revision);
    this.#dropStale();
  }

  /** Continues at a revision above the next one. `readOlder` provides the changes in between. */
  restart(at: Revision): void {
    invariant(at >= this.#last, 'a feed goes forward', { at, last: this.#last });
    this.#ring = [];
    this.#head = 0;
    this.#bytes = 0;
    this.#floor = at;
    this.#last = at;
    this.#wakeAll();
  }

  /** Ends the current followers with this error. Later ones are served. */
  interrupt(error: Error): void {
    for (const follower of this.#followers) follower.interrupted = error;
    this.#wakeAll();
  }

  /** Returns the change at a revision while this process holds it. */
  at(revision: Revision): Change | undefined {
    return revision <= this.#floor ? undefined : this.#ring[this.#head + revision - this.#floor - 1];
  }

  /** Ends every current and later follower with this error. */
  end(error: Error): void {
    this.#ended ??= error;
    this.#wakeAll();
  }

  /** Yields the changes after `after`, then live ones, until the signal aborts. */
  async *follow(after: Revision, signal: AbortSignal): AsyncGenerator<readonly Change[], void, undefined> {
    const follower: Follower = { wake: undefined, interrupted: undefined };
    const onAbort = (): void => follower.wake?.(undefined);
    this.#followers.add(follower);
    signal.addEventListener('abort', onAbort);
    try {
      let cursor = after;
      for (;;) {
        const batch = await this.#next(cursor, follower, signal);
        if (batch === undefined) return;
        cursor = batch.at(-1)?.revision ?? cursor;
        yield batch;
      }
    } finally {
      signal.removeEventListener('abort', onAbort);
      this.#followers.delete(follower);
    }
  }

  async #next(cursor: Revision, follower: Follower, signal: AbortSignal): Promise<readonly Change[] | undefined> {
    for (;;) {
      if (signal.aborted) return undefined;
      const failure = this.#ended ?? follower.interrupted;
      if (failure !== undefined) throw failure;
      const batch = await this.#step(cursor, follower);
      if (batch === undefined || signal.aborted) continue;
      if (batch[0]?.revision === cursor + 1) return batch;
      invariant((batch[0]?.revision ?? 0) <= cursor, 'a follower misses nothing', { cursor, got: batch[0]?.revision });
    }
  }

  async #step(cursor: Revision, follower: Follower): Promise<readonly Change[] | undefined> {
    if (cursor < Math.max(this.#floor, this.#dropped)) return this.#older(cursor);
    if (cursor < this.#last) return this.#slice(cursor);
    const batch = await new Promise<readonly Change[] | undefined>((resolve) => {
      follower.wake = resolve;
    });
    follower.wake = undefined;
    return batch;
  }

  async #older(cursor: Revision): Promise<readonly Change[]> {
    if (this.#options.readOlder === undefined) throw new Compacted(this.#floor);
    const batch = await this.#options.readOlder(cursor);
    invariant(batch.length > 0, 'older history exists', { cursor, floor: this.#floor });
    return batch;
  }

  #slice(cursor: Revision): readonly Change[] {
    const from = this.#head + cursor - this.#floor;
    return this.#ring.slice(from, from + FEED_BATCH_CHANGES);
  }

  get #size(): number {
    return this.#ring.length - this.#head;
  }

  #dropStale(): void {
    while (this.#floor < this.#dropped && this.#size > 0) this.#dropOldest();
  }

  #wakeAll(): void {
    for (const follower of this.#followers) follower.wake?.(undefined);
  }

  #dropOldest(): void {
    const oldest = this.#ring[this.#head];
    invariant(oldest !== undefined, 'the feed holds what it drops');
    this.#bytes -= sizeOfChange(oldest);
    this.#floor = oldest.revision;
    this.#head += 1;
    if (this.#head * 2 > this.#ring.length) {
      this.#ring = this.#ring.slice(this.#head);
      this.#head = 0;
    }
  }
}
