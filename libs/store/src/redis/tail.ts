import { type Clock, describeError, type Log, RecentMap, type Timer } from '@holdfast/platform';
import type { Redis } from 'ioredis';
import type { ChangeFeed } from '../internal/change-feed.ts';
import {
  FEED_BATCH_CHANGES,
  REDIS_TAIL_BLOCK_MS,
  REDIS_TAIL_END_AFTER_MS,
  REDIS_TAIL_REPORT_AFTER_MS,
} from '../limits.ts';
import { type Change, type Revision, StoreUnavailable } from '../port.ts';
import { DamagedValue } from './checksum.ts';
import { HISTORY_KEY } from './layout.ts';
import type { Link } from './link.ts';
import { decodeEntry, type HistoryEntry } from './replies.ts';
import type { Standing } from './standing.ts';

/** Write ids that the tail remembers, to detect one that was applied twice. */
const WATCHED_WRITE_IDS = 20_000;

export interface TailOptions {
  readonly link: Link;
  readonly feed: ChangeFeed;
  readonly standing: Standing;
  readonly clock: Clock;
  readonly log: Log;
  readonly compacted: () => Promise<Revision>;
}

/** The only reader of the server's history in this process. It checks the history and feeds all followers. */
export class Tail {
  readonly #options: TailOptions;
  readonly #writeIds = new RecentMap<string, Revision>(WATCHED_WRITE_IDS);
  #brokenSince: number | undefined;
  #endFollowers: Timer | undefined;

  constructor(options: TailOptions) {
    this.#options = options;
    void this.#run();
  }

  /** A sentence while the feed is stalled because the server cannot be read. */
  get complaint(): string | undefined {
    if (this.#brokenSince === undefined) return undefined;
    const brokenMs = this.#options.clock.monotonic() - this.#brokenSince;
    if (brokenMs < REDIS_TAIL_REPORT_AFTER_MS) return undefined;
    return `changes cannot be read since ${Math.floor(brokenMs / 1000)} s`;
  }

  stop(): void {
    this.#endFollowers?.cancel();
    this.#options.link.close();
  }

  async #run(): Promise<void> {
    const { link, standing } = this.#options;
    while (!standing.closed && standing.halted === undefined) {
      const redis = await link.ready(REDIS_TAIL_BLOCK_MS);
      if (redis === undefined) {
        this.#broken();
        continue;
      }
      try {
        await this.#readOnce(redis);
        this.#mended();
      } catch (error) {
        if (error instanceof DamagedValue) standing.halt(error.message);
        link.drop(redis, error);
        this.#broken();
      }
    }
  }

  /** One pending XREAD at a time: a reply that waited behind another one could show data that are not yet on disk. */
  async #readOnce(redis: Redis): Promise<void> {
    const { feed, standing } = this.#options;
    const answer = await this.#read(redis, `${feed.last}-0`);
    if (standing.closed) return;
    const entries = (answer?.[0]?.[1] ?? []).map(([id, fields]) => decodeEntry(id, fields));
    const first = entries[0];
    if (first === undefined) return;
    if (first.change.revision > feed.last + 1) await this.#skipCompacted(first.change.revision);
    feed.publish(entries.map((entry) => this.#verified(entry)));
    standing.observe(feed.last, 0);
  }

  /** After a reconnect the first read does not block, so that the end of the backlog is noticed immediately. */
  async #read(redis: Redis, position: string) {
    if (this.#brokenSince !== undefined) {
      return redis.xread('COUNT', FEED_BATCH_CHANGES, 'STREAMS', HISTORY_KEY, position);
    }
    const block = REDIS_TAIL_BLOCK_MS;
    return redis.xread('COUNT', FEED_BATCH_CHANGES, 'BLOCK', block, 'STREAMS', HISTORY_KEY, position);
  }

  /** A hole is only valid where changes were compacted while this process was away. Any other hole is lost history. */
  async #skipCompacted(next: Revision): Promise<void> {
    const { feed, standing, compacted } = this.#options;
    if ((await compacted()) < next - 1) throw standing.halt(`the history has a gap between ${feed.last} and ${next}`);
    feed.restart(next - 1);
  }

  #verified({ change, writeId }: HistoryEntry): Change {
    const { feed, standing } = this.#options;
    const { revision, previousRevision, key } = change;
    standing.witness({ revision, writeId });
    const earlier = this.#writeIds.get(writeId);
    if (earlier !== undefined && earlier !== revision - 1) {
      throw standing.halt(`write ${writeId} was applied at revisions ${earlier} and ${revision}`);
    }
    this.#writeIds.set(writeId, revision);
    const before = feed.at(previousRevision);
    if (before !== undefined && (before.key !== key || before.kind === 'deleted')) {
      throw standing.halt(`the change of ${key} at ${revision} replaces a revision of something else`);
    }
    return Object.freeze(before === undefined ? change : { ...change, previousValue: before.value });
  }

  #broken(): void {
    const { clock, feed, log, link, standing } = this.#options;
    if (this.#brokenSince !== undefined || standing.closed) return;
    this.#brokenSince = clock.monotonic();
    this.#endFollowers = clock.timer(REDIS_TAIL_END_AFTER_MS, () => {
      log.warn('ending all subscriptions to changes', { reason: describeError(link.lastError) });
      feed.interrupt(new StoreUnavailable('changes cannot be read from the store'));
    });
  }

  #mended(): void {
    this.#brokenSince = undefined;
    this.#endFollowers?.cancel();
  }
}
