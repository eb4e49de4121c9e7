import { type Clock, describeError, type Ids, invariant, type Log } from '@holdfast/platform';
import type { TlsClient } from '@holdfast/platform/tls-client';
import type { Redis } from 'ioredis';
import { ChangeFeed } from '../internal/change-feed.ts';
import { every, Maintenance } from '../internal/maintenance.ts';
import { DEFAULT_RETENTION, type HistoryExtent, type RetentionLimits, retentionBeside } from '../internal/retention.ts';
import { isPressed, roomCautions } from '../internal/room.ts';
import {
  FEED_BATCH_CHANGES,
  MAINTAIN_INTERVAL_MS,
  RECENT_CHANGES,
  RECENT_CHANGES_BYTES,
  REDIS_COMMAND_TIMEOUT_MS,
  REDIS_RECHECK_TICK_MS,
  REDIS_RENEWAL_RETRY_MS,
  REDIS_START_TIMEOUT_MS,
  REDIS_TAIL_BLOCK_MS,
  REDIS_WRITE_DEADLINE_MS,
  STORE_CHECK_INTERVAL_MS,
} from '../limits.ts';
import {
  type Change,
  type DurableStore,
  type Lineage,
  type ListOptions,
  type ListPage,
  type Revision,
  type StoredObject,
  StoreHalted,
  type StoreKey,
  type StoreLimits,
  StoreUnavailable,
  type StoreUsage,
  type WriteOperation,
  type WriteOptions,
  type WriteResult,
} from '../port.ts';
import { callScript } from './call.ts';
import { DamagedValue } from './checksum.ts';
import { HISTORY_KEY, META_KEY } from './layout.ts';
import { Link } from './link.ts';
import { assertLayout, unfitError, unreachableError, unsafeError } from './open-errors.ts';
import { ReadPath } from './read-path.ts';
import { renewFile } from './renewed-file.ts';
import { decodeSize, type StoreSize } from './replies.ts';
import { COMPACT, HALT } from './scripts.ts';
import { countOnce, difference, inspect, newestSightings, readSettings, trimHistory } from './server.ts';
import { fieldsOf, unfitServer, unsafeSettings } from './settings.ts';
import { type Halt, ServerTime, Standing, unavailable } from './standing.ts';
import { Tail } from './tail.ts';
import { verifyOnce } from './verify.ts';
import { WritePath } from './write-path.ts';

export interface RedisStoreOptions {
  /** `redis://` or `rediss://`, with user and password where needed. */
  readonly url: string;
  /** For a `rediss://` server whose authority Node does not trust, or that requires a client certificate. */
  readonly tls?: TlsClient;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  /** Start even when the server's settings are not durable. Acknowledged writes may then be lost. */
  readonly allowUnsafe?: boolean;
  readonly commandTimeoutMs?: number;
  readonly writeDeadlineMs?: number;
  readonly startTimeoutMs?: number;
  readonly retention?: RetentionLimits;
  /** Absent means no limit. */
  readonly limits?: StoreLimits | undefined;
}

/** Connects, checks that the server is durable and its data complete, and resolves with a store that follows it. */
export async function createRedisStore(options: RedisStoreOptions): Promise<DurableStore> {
  const store = new RedisStore(options);
  try {
    await store.open();
  } catch (error) {
    await store.close();
    throw error;
  }
  return store;
}

class RedisStore implements DurableStore {
  readonly #options: RedisStoreOptions;
  readonly #standing: Standing;
  readonly #serverTime: ServerTime;
  readonly #link: Link;
  readonly #reads: ReadPath;
  readonly #writes: WritePath;
  readonly #maintenance: Maintenance;
  readonly #loops: { stop(): void }[] = [];
  #feed: ChangeFeed | undefined;
  #tail: Tail | undefined;
  #size: StoreSize = { revision: 0, compacted: 0, objectBytes: 0, historyBytes: 0 };
  #relief: Promise<void> | undefined;
  /** A write found no room since the last compaction. */
  #isRefusing = false;
  #checkedAt = 0;
  /** In which run of the server it was last tried, and how it ended. */
  #renewal:
    | { readonly run: string | undefined; readonly refusal: string | undefined; readonly atMs: number }
    | undefined;
  #haltToRecord: Halt | undefined;
  #unfitAtStart: readonly string[] = [];
  #unsafeAtStart: readonly string[] = [];

  constructor(options: RedisStoreOptions) {
    this.#options = options;
    const { clock, ids, log, retention = DEFAULT_RETENTION } = options;
    const standing = new Standing({ log, allowUnsafe: options.allowUnsafe === true });
    const commandTimeoutMs = options.commandTimeoutMs ?? REDIS_COMMAND_TIMEOUT_MS;
    const admit = (redis: Redis): Promise<void> => this.#check(redis);
    const { url, tls } = options;
    const link = new Link({ url, tls, name: 'commands', commandTimeoutMs, clock, log, admit });
    const writeDeadlineMs = options.writeDeadlineMs ?? REDIS_WRITE_DEADLINE_MS;
    this.#standing = standing;
    this.#serverTime = new ServerTime(clock);
    this.#link = link;
    this.#reads = new ReadPath({ link, standing });
    this.#writes = new WritePath({
      link,
      standing,
      serverTime: this.#serverTime,
      clock,
      ids,
      writeDeadlineMs,
      limits: options.limits,
      onSize: (size, isRefusing) => this.#learnSize(size, isRefusing),
    });
    this.#maintenance = new Maintenance({
      clock,
      limits: () => retentionBeside(retention, this.usage(), this.#isRefusing),
      measure: () => this.#measure(),
      compact: (upTo) => this.compact(upTo),
    });
    standing.onHalt((halt) => {
      this.#endFollowersOfHalted();
      this.#haltToRecord = halt;
      void this.#recordHalt(link.current);
    });
    standing.onHaltElsewhere((error) => this.#feed?.interrupt(error));
  }

  /** Rejects with an OperatorError when the server is unreachable, not durable, or holds foreign data. */
  async open(): Promise<void> {
    const { url, startTimeoutMs = REDIS_START_TIMEOUT_MS } = this.#options;
    const redis = await this.#link.ready(startTimeoutMs);
    if (redis === undefined) {
      throw unreachableError(url, this.#link.lastError ?? new Error(`no answer within ${startTimeoutMs} ms`));
    }
    if (this.#unfitAtStart.length > 0) throw unfitError(this.#unfitAtStart);
    if (this.#unsafeAtStart.length > 0 && this.#options.allowUnsafe !== true) throw unsafeError(this.#unsafeAtStart);
    const inspection = await inspect(redis, this.#options.ids.uuid());
    assertLayout(inspection);
    if (inspection.size === undefined) await countOnce(redis);
    const { size } = inspection.size === undefined ? await inspect(redis, '') : inspection;
    if (size !== undefined) this.#takeSize(size);
    this.#standing.adopt(inspection);
    for (const sighting of await newestSightings(redis)) this.#standing.witness(sighting);
    this.#standing.review(inspection, 0);
    if (this.#standing.haltedBy === undefined) await this.#verify(redis);
    this.#follow(this.#standing.highest);
    this.#endFollowersOfHalted();
    this.#startLoops();
  }

  async get(key: StoreKey): Promise<{ readonly revision: Revision; readonly object: StoredObject | undefined }> {
    return this.#reads.get(key);
  }

  async list(prefix: string, options?: ListOptions): Promise<ListPage> {
    return this.#reads.list(prefix, options);
  }

  async write(operations: readonly WriteOperation[], options: WriteOptions = {}): Promise<WriteResult> {
    return this.#writes.write(operations, options);
  }

  usage(): StoreUsage {
    const { objectBytes, historyBytes } = this.#size;
    return { objectBytes, historyBytes, limits: this.#options.limits };
  }

  changes(options: { readonly after: Revision; readonly signal: AbortSignal }): AsyncIterable<readonly Change[]> {
    invariant(this.#feed !== undefined, 'an open store has a feed');
    return this.#feed.follow(options.after, options.signal);
  }

  async currentRevision(): Promise<Revision> {
    return this.#reads.revision();
  }

  async compactedRevision(): Promise<Revision> {
    return this.#reads.compacted();
  }

  lineage(): Lineage {
    return this.#standing.lineage;
  }

  async writeIdAt(revision: Revision): Promise<string | undefined> {
    const [entry] = await this.#reads.history(revision - 1, 1);
    return entry?.change.revision === revision ? entry.writeId : undefined;
  }

  halt(reason: string): void {
    this.#standing.halt(reason);
  }

  haltedBy(): string | undefined {
    return this.#standing.haltedBy;
  }

  /**
   * Sets the mark first, then trims the entries. Readers check the mark, so they never miss a trimmed entry silently.
   */
  async compact(upTo: Revision): Promise<void> {
    this.#standing.assertServing();
    const redis = this.#link.current;
    if (redis === undefined) throw unavailable('no connection to the store', this.#link.lastError);
    try {
      const reply = await callScript(redis, { script: COMPACT, keys: [META_KEY, HISTORY_KEY], arguments: [upTo] });
      const size = decodeSize(reply);
      const { compacted } = size;
      this.#takeSize(size);
      this.#feed?.dropUpTo(compacted);
      await trimHistory(redis, compacted);
    } catch (error) {
      throw unavailable('the history could not be compacted', error);
    }
  }

  readonly maintain = (): Promise<void> => this.#maintenance.run();

  async health(): Promise<readonly string[]> {
    const complaints = [...this.#standing.complaints];
    if (this.#link.current === undefined && !this.#standing.closed) {
      complaints.push(`no connection to the store: ${describeError(this.#link.lastError)}`);
    }
    const feed = this.#tail?.complaint;
    if (feed !== undefined) complaints.push(feed);
    return complaints;
  }

  readonly cautions = (): readonly string[] => [...this.#standing.cautions, ...roomCautions(this.usage())];

  async close(): Promise<void> {
    this.#standing.close();
    for (const loop of this.#loops) loop.stop();
    this.#feed?.end(new StoreUnavailable('the store is closed'));
    this.#tail?.stop();
    this.#link.close();
  }

  #follow(from: Revision): void {
    const { url, tls, clock, log, commandTimeoutMs = REDIS_COMMAND_TIMEOUT_MS } = this.#options;
    const readOlder = async (after: Revision): Promise<Change[]> =>
      (await this.#reads.history(after, FEED_BATCH_CHANGES)).map(({ change }) => change);
    const feed = new ChangeFeed({ start: from, maxChanges: RECENT_CHANGES, maxBytes: RECENT_CHANGES_BYTES, readOlder });
    const link = new Link({
      url,
      tls,
      name: 'changes',
      commandTimeoutMs: REDIS_TAIL_BLOCK_MS + commandTimeoutMs,
      clock,
      log,
      admit: (redis) => this.#compare(redis),
    });
    const compacted = (): Promise<Revision> => this.#reads.compacted();
    this.#feed = feed;
    this.#tail = new Tail({ link, feed, standing: this.#standing, clock, log, compacted });
  }

  #startLoops(): void {
    const { clock, log } = this.#options;
    this.#loops.push(
      every({ clock, log, what: 'check' }, REDIS_RECHECK_TICK_MS, () => this.#recheck()),
      every({ clock, log, what: 'compaction' }, MAINTAIN_INTERVAL_MS, this.maintain),
    );
  }

  /** Checks a store that does not serve on every tick, so that it recovers soon after the server does. */
  async #recheck(): Promise<void> {
    const redis = this.#link.current;
    const isDue = this.#options.clock.monotonic() - this.#checkedAt >= STORE_CHECK_INTERVAL_MS;
    if (redis !== undefined && (isDue || this.#standing.complaints.length > 0)) await this.#check(redis);
  }

  /** Checks everything that makes the server trustworthy. Runs on each new connection and periodically. */
  async #check(redis: Redis): Promise<void> {
    const knownBefore = this.#standing.highest;
    const [config, info] = await Promise.all([readSettings(redis), redis.info()]);
    const unfit = unfitServer(info);
    const unrenewed = unfit.length > 0 ? undefined : await this.#renewFile(redis, info);
    const unsafe = [...unsafeSettings(config), ...(unrenewed === undefined ? [] : [unrenewed])];
    await this.#compare(redis);
    // Behind a torn end it would be lost again.
    if (unrenewed === undefined || this.#options.allowUnsafe === true) await this.#recordHalt(redis);
    const inspection = await inspect(redis, '');
    if (inspection.size !== undefined) this.#takeSize(inspection.size);
    this.#serverTime.sample(inspection.serverTimeMs);
    if (this.#feed === undefined) {
      this.#unsafeAtStart = unsafe;
      this.#unfitAtStart = unfit;
    } else {
      this.#standing.review(inspection, knownBefore);
      if (this.#standing.haltedBy === undefined) await this.#verify(redis);
    }
    this.#standing.setChecks({ unsafe, unfit });
    this.#checkedAt = this.#options.clock.monotonic();
  }

  /** Once after each start of the server. Resolves with why it is impossible. */
  async #renewFile(redis: Redis, info: string): Promise<string | undefined> {
    const { clock } = this.#options;
    const run = fieldsOf(info).get('run_id');
    const last = this.#renewal;
    const isKnown = last !== undefined && run !== undefined && last.run === run;
    if (isKnown && (last.refusal === undefined || clock.monotonic() - last.atMs < REDIS_RENEWAL_RETRY_MS))
      return last.refusal;
    const refusal = await renewFile(redis, clock);
    this.#renewal = { run, refusal, atMs: clock.monotonic() };
    return refusal;
  }

  /** Checks what the server has read from its file. */
  async #verify(redis: Redis): Promise<void> {
    const run = this.#renewal?.run;
    if (run === undefined) return;
    try {
      await verifyOnce(redis, run);
    } catch (error) {
      if (!(error instanceof DamagedValue)) throw error;
      this.#standing.halt(error.message);
    }
  }

  /** Checks that the history is the one this process has seen, before anything reads it. */
  async #compare(redis: Redis): Promise<void> {
    const found = await difference(redis, this.#standing.witnessed);
    if (found !== undefined) this.#standing.haltOnDifference(found);
  }

  async #measure(): Promise<HistoryExtent> {
    this.#standing.assertServing();
    const redis = this.#link.current;
    if (redis === undefined) throw unavailable('no connection to the store', this.#link.lastError);
    const { meta, size } = await inspect(redis, '');
    if (size !== undefined) this.#takeSize(size);
    return { current: meta?.revision ?? 0, compacted: meta?.compacted ?? 0, bytes: size?.historyBytes ?? 0 };
  }

  #takeSize(size: StoreSize): void {
    if (size.revision >= this.#size.revision && size.compacted >= this.#size.compacted) this.#size = size;
  }

  /** A nearly full store compacts now, instead of at the next maintenance. */
  #learnSize(size: StoreSize, isRefusing: boolean): void {
    this.#takeSize(size);
    this.#isRefusing ||= isRefusing;
    if (this.#relief !== undefined) return;
    if (!this.#isRefusing && !isPressed(this.#options.limits, this.usage())) return;
    this.#relief = this.#compactNow();
  }

  async #compactNow(): Promise<void> {
    try {
      await this.maintain();
    } catch (error) {
      this.#options.log.warn('history could not be compacted', { reason: describeError(error) });
    } finally {
      this.#relief = undefined;
      this.#isRefusing = false;
    }
  }

  #endFollowersOfHalted(): void {
    const { halted } = this.#standing;
    if (halted !== undefined) this.#feed?.end(new StoreHalted(halted));
  }

  /**
   * Records the halt for other processes: a history that they wrote themselves looks correct to them. Retries until it
   * is recorded.
   */
  async #recordHalt(redis: Redis | undefined): Promise<void> {
    const halt = this.#haltToRecord;
    if (halt === undefined || redis === undefined) return;
    const { reason, incarnation, epoch } = halt;
    try {
      await callScript(redis, { script: HALT, keys: [META_KEY], arguments: [incarnation, epoch, reason] });
      this.#haltToRecord = undefined;
    } catch (error) {
      this.#options.log.error('the halt could not be recorded', { error });
    }
  }
}
