import { invariant } from '@holdfast/platform/invariant';

/** Named limits of the store package. Units are in the names. */

/** Operations of one atomic batch. Bounds the time a backend is blocked by one write. */
export const MAX_BATCH_OPERATIONS = 128;

/** Changes handed over in one array to a follower that catches up. */
export const FEED_BATCH_CHANGES = 1_000;

/** History every durable backend keeps at least, so that a client that was away for a coffee can resume its watch. */
export const HISTORY_MIN_AGE_MS = 10 * 60_000;
export const HISTORY_MIN_REVISIONS = 50_000;
/** Hard cap: beyond it, history goes even when it is younger than the minimum age. */
export const HISTORY_MAX_BYTES = 256 * 1024 * 1024;

/** The memory backend has no clock, and its history is memory: it keeps some seconds of full load, by number and size. */
export const MEMORY_HISTORY_REVISIONS = 10_000;
export const MEMORY_HISTORY_BYTES = 32 * 1024 * 1024;

/** The part of the history a durable backend keeps in this process, so that followers do not read it back. */
export const RECENT_CHANGES = 5_000;
export const RECENT_CHANGES_BYTES = 16 * 1024 * 1024;

/** Write ids remembered per bucket by a backend inside this process; two buckets are kept. */
export const WRITE_IDS_PER_BUCKET = 65_536;

/** Redis: a write that is still undecided after this is answered with `OutcomeUnknown`. */
export const REDIS_WRITE_DEADLINE_MS = 10_000;
/** Redis: the server refuses to execute an attempt later than this after it was sent. */
export const REDIS_ATTEMPT_VALID_MS = 5_000;
/** Redis: an attempt without an answer for this long is undecided; its connection is dropped. Below the validity. */
export const REDIS_COMMAND_TIMEOUT_MS = 3_000;
export const REDIS_CONNECT_TIMEOUT_MS = 3_000;
/** Redis: how long a closing socket may linger before it is destroyed. */
export const REDIS_DISCONNECT_TIMEOUT_MS = 50;
export const REDIS_RECONNECT_DELAY_MS = 50;
export const REDIS_RECONNECT_DELAY_MAX_MS = 1_000;
/** Redis: pause before a write is tried again that the server refused for a passing reason. */
export const REDIS_RETRY_DELAY_MS = 50;
/** Redis: how long start-up waits for the server to answer. */
export const REDIS_START_TIMEOUT_MS = 10_000;
/** Data that were replaced under a running process are noticed within this time. */
export const STORE_CHECK_INTERVAL_MS = 10_000;
/** Revisions that an adoption of data leaves out: more than anybody may have seen of what was lost. */
export const ADOPTION_JUMP = 1_000_000_000_000;
/** Redis: the newest changes that a process remembers by their write id, to compare them with the server's history. */
export const REDIS_WITNESSED_CHANGES = 16;
/** Redis: how often a store that does not serve is checked. */
export const REDIS_RECHECK_TICK_MS = 500;
export const MAINTAIN_INTERVAL_MS = 60_000;
/** Redis: writes waiting for an answer, per process; more are refused. */
export const REDIS_WRITES_IN_FLIGHT = 1_024;
/** Redis: write ids live in buckets of this length; two are looked at. */
export const REDIS_WRITE_ID_BUCKET_MS = 600_000;
export const REDIS_WRITE_ID_EXPIRY_SECONDS = 1_800;
/** Redis: ids of writes without an answer that a process knows again when they are repeated. */
export const REDIS_LEFT_OPEN_MAX = 20_000;
/** Redis: objects read by one script; bounds how long it blocks the server. */
export const REDIS_LIST_PAGE_OBJECTS = 500;
/** Redis: single objects read by one script, those asked for in one turn of the event loop. */
export const REDIS_GETS_TOGETHER = 64;
/**
 * Redis: writes judged by one script; as many do not wait for the end of their turn of the event loop. With all of a turn in one script
 * everybody waits for one fsync at a time: the server had nothing to do during 17 % of it, and nobody else either.
 */
export const REDIS_WRITES_TOGETHER = 8;
/** Redis: text of the writes that share a script; one write may always go. */
export const REDIS_CHARACTERS_TOGETHER = 1024 * 1024;
/** Redis: times a list is begun again because history was compacted under it. */
export const REDIS_LIST_ATTEMPTS = 5;
export const REDIS_TAIL_BLOCK_MS = 5_000;
/** Redis: a feed that cannot be read for this long is reported, then its followers are ended. */
export const REDIS_TAIL_REPORT_AFTER_MS = 10_000;
export const REDIS_TAIL_END_AFTER_MS = 30_000;
/** Redis: calls of XTRIM in one compaction; each removes at most some ten thousand entries. */
export const REDIS_TRIM_CALLS = 200;

/** SQLite: changes in one transaction; the rest of a burst waits for the next one. */
export const SQLITE_COMMIT_CHANGES = 512;
export const SQLITE_COMMIT_CHARACTERS = 16 * 1024 * 1024;
/** SQLite: writes waiting for an answer; more are refused. */
export const SQLITE_WRITES_WAITING = 4_096;
/** SQLite: the log file is copied into the database when nobody has written for this long, so that writes rarely wait for it. */
export const SQLITE_IDLE_CHECKPOINT_MS = 100;
/** SQLite: under load it is copied when it has this many pages (4 KiB each). */
export const SQLITE_CHECKPOINT_PAGES = 4_000;
/** SQLite: rows handed over at once at start-up. */
export const SQLITE_LOAD_ROWS = 1_000;
/** SQLite: revisions looked at by one compaction transaction, so that writes get in between. */
export const SQLITE_COMPACT_REVISIONS = 2_000;

/** SQLite: young generation of the thread's heap; what it makes lives for one transaction. */
export const SQLITE_THREAD_YOUNG_MB = 6;

// Relations between limits. A change that breaks one fails every test of the room.
invariant(REDIS_ATTEMPT_VALID_MS < REDIS_WRITE_DEADLINE_MS, 'an attempt expires before its write is given up');
invariant(
  REDIS_WRITE_DEADLINE_MS < REDIS_WRITE_ID_BUCKET_MS,
  'the id of a write is kept for as long as the write may be repeated',
);
invariant(
  REDIS_WRITE_ID_EXPIRY_SECONDS * 1_000 >= 2 * REDIS_WRITE_ID_BUCKET_MS,
  'a bucket of write ids outlives the bucket that follows it',
);
invariant(REDIS_RECONNECT_DELAY_MS <= REDIS_RECONNECT_DELAY_MAX_MS, 'reconnecting begins with the shortest delay');
invariant(REDIS_TAIL_BLOCK_MS < REDIS_TAIL_REPORT_AFTER_MS, 'an idle feed is not reported as silent');
invariant(REDIS_TAIL_REPORT_AFTER_MS < REDIS_TAIL_END_AFTER_MS, 'a silent feed is reported before it ends');
invariant(REDIS_WITNESSED_CHANGES <= HISTORY_MIN_REVISIONS, 'the history holds every change that is compared with it');
invariant(
  RECENT_CHANGES <= HISTORY_MIN_REVISIONS && RECENT_CHANGES_BYTES <= HISTORY_MAX_BYTES,
  'what a process keeps is a part of the history',
);
invariant(FEED_BATCH_CHANGES <= RECENT_CHANGES, 'a batch of the feed comes from what the process keeps');
invariant(MAX_BATCH_OPERATIONS <= SQLITE_COMMIT_CHANGES, 'a batch fits into one commit');
