import { invariant } from '@holdfast/platform/invariant';

/** Named limits of the store. The names contain the units. */

/** Operations of one atomic batch. Bounds the time for which one write blocks a backend. */
export const MAX_BATCH_OPERATIONS = 128;

/** Changes in one array for a follower that catches up. */
export const FEED_BATCH_CHANGES = 1_000;

/** Objects per page when objects are read that could not be decrypted before. */
export const REOPENED_PAGE_OBJECTS = 500;

/** Reads of undecryptable objects at one signal: each signal that comes during a read asks for another one. */
export const REOPENINGS_MAX = 5;

/** Encrypted objects whose newest change in the feed is remembered, so that a late read cannot contradict it. */
export const SEALED_CHANGES_KEPT = 10_000;

/**
 * Every durable backend keeps at least this much history, so that a client that was away for some minutes can resume
 * its watch.
 */
export const HISTORY_MIN_AGE_MS = 10 * 60_000;
export const HISTORY_MIN_REVISIONS = 50_000;
/** Hard cap: beyond it, history is dropped even when it is younger than the minimum age. */
export const HISTORY_MAX_BYTES = 256 * 1024 * 1024;

/**
 * The memory backend has no clock, and its history takes memory: it keeps some seconds of full load, by count and size.
 */
export const MEMORY_HISTORY_REVISIONS = 10_000;
export const MEMORY_HISTORY_BYTES = 32 * 1024 * 1024;

/** The part of the history that a durable backend keeps in memory, so that followers need not read it back. */
export const RECENT_CHANGES = 5_000;
export const RECENT_CHANGES_BYTES = 16 * 1024 * 1024;

/** Write ids per bucket in a backend inside this process. It keeps two buckets. */
export const WRITE_IDS_PER_BUCKET = 65_536;

/** Redis: a write without a definite answer after this time fails with `OutcomeUnknown`. */
export const REDIS_WRITE_DEADLINE_MS = 10_000;
/** Redis: the server refuses to execute an attempt that is older than this. */
export const REDIS_ATTEMPT_VALID_MS = 5_000;
/**
 * Redis: an attempt without an answer for this long is undecided, and its connection is dropped. Shorter than the
 * validity.
 */
export const REDIS_COMMAND_TIMEOUT_MS = 3_000;
export const REDIS_CONNECT_TIMEOUT_MS = 3_000;
/** Redis: how long a closing socket may linger before it is destroyed. */
export const REDIS_DISCONNECT_TIMEOUT_MS = 50;
export const REDIS_RECONNECT_DELAY_MS = 50;
export const REDIS_RECONNECT_DELAY_MAX_MS = 1_000;
/** Redis: wait before the retry of a write that the server rejected for a temporary reason. */
export const REDIS_RETRY_DELAY_MS = 50;
/** Redis: start-up waits this long for the server. */
export const REDIS_START_TIMEOUT_MS = 10_000;
/** Redis: how long a server may take to begin a new part of its append-only file, and how often that is looked at. */
export const REDIS_RENEWAL_WAIT_MS = 5_000;
export const REDIS_RENEWAL_LOOK_MS = 20;
/** Redis: a server that refused it is asked again after this time. Each attempt may add a part. */
export const REDIS_RENEWAL_RETRY_MS = 10_000;
/** A running process detects replaced data within this time. */
export const STORE_CHECK_INTERVAL_MS = 10_000;
/** A restore into Redis sends this many objects at once. */
export const RESTORE_BATCH_OBJECTS = 500;
/** An adoption skips this many revisions: more than any client can have seen of the lost history. */
export const ADOPTION_JUMP = 1_000_000_000_000;
/**
 * Redis: a process remembers this many of the newest changes by write id, to compare them with the server's history.
 */
export const REDIS_WITNESSED_CHANGES = 16;
/** Redis: check interval of a store that does not serve. */
export const REDIS_RECHECK_TICK_MS = 500;
export const MAINTAIN_INTERVAL_MS = 60_000;
/** Redis: writes in flight per process. More are rejected. */
export const REDIS_WRITES_IN_FLIGHT = 1_024;
/** Redis: write ids live in buckets of this length. A lookup reads two buckets. */
export const REDIS_WRITE_ID_BUCKET_MS = 600_000;
export const REDIS_WRITE_ID_EXPIRY_SECONDS = 1_800;
/** Redis: remembered ids of writes without an answer, to recognize their repetition. */
export const REDIS_LEFT_OPEN_MAX = 20_000;
/** Redis: objects that one script reads. Bounds the time for which it blocks the server. */
export const REDIS_LIST_PAGE_OBJECTS = 500;
/** Redis: single objects that one script reads: those requested in one turn of the event loop. */
export const REDIS_GETS_TOGETHER = 64;
/**
 * Redis: writes in one script. A full script is sent before the end of its turn of the event loop. With all writes of a
 * turn in one script, all of them waited for the same fsync and the server was idle for 17 % of the time.
 */
export const REDIS_WRITES_TOGETHER = 8;
/** Redis: total text of the writes in one script. A single write may exceed it. */
export const REDIS_CHARACTERS_TOGETHER = 1024 * 1024;
/** Redis: attempts of a list that compaction interrupts. */
export const REDIS_LIST_ATTEMPTS = 5;
export const REDIS_TAIL_BLOCK_MS = 5_000;
/** Redis: a feed that is unreadable for this long is reported; then its followers end. */
export const REDIS_TAIL_REPORT_AFTER_MS = 10_000;
export const REDIS_TAIL_END_AFTER_MS = 30_000;
/** Redis: calls of XTRIM in one compaction; each removes at most some ten thousand entries. */
export const REDIS_TRIM_CALLS = 200;

/** SQLite: changes in one transaction. The rest of a burst waits for the next one. */
export const SQLITE_COMMIT_CHANGES = 512;
export const SQLITE_COMMIT_CHARACTERS = 16 * 1024 * 1024;
/** SQLite: writes in the queue. More are rejected. */
export const SQLITE_WRITES_WAITING = 4_096;
/**
 * SQLite: after this time without writes the log file is checkpointed into the database, so that writes rarely wait for
 * that.
 */
export const SQLITE_IDLE_CHECKPOINT_MS = 100;
/** SQLite: under load, checkpoint at this many pages (4 KiB each). */
export const SQLITE_CHECKPOINT_PAGES = 4_000;
/**
 * SQLite: rows per message at start-up. Those of a message should fit into the young generation of the thread, which
 * otherwise copies each of them twice.
 */
export const SQLITE_LOAD_ROWS = 80;
/** SQLite: revisions that one compaction transaction examines, so that writes can run in between. */
export const SQLITE_COMPACT_REVISIONS = 2_000;

/** SQLite: young generation of the thread's heap. Its objects live for one transaction. */
export const SQLITE_THREAD_YOUNG_MB = 6;

/** Log: a write without a definite answer after this time fails with `OutcomeUnknown`. An election takes 4 to 9 s. */
export const LOG_WRITE_DEADLINE_MS = 25_000;
/** Log: a read whose barrier takes longer fails with `StoreUnavailable`. */
export const LOG_BARRIER_DEADLINE_MS = 5_000;
/** Log: new writes are refused while the log has committed nothing of this process for this long. */
export const LOG_STALLED_AFTER_MS = 5_000;
/** Log: a server that has stored nothing for this long is left. An election takes 4 to 9 s, and no other server is of use meanwhile. */
export const LOG_MOVE_ON_AFTER_MS = 10_000;
/** Log: an entry that did not come back is sent again after this time. */
export const LOG_RESEND_AFTER_MS = 1_000;
/** Log: an entry that was refused, because the log has no leader, is sent again after this time. */
export const LOG_RESEND_REFUSED_MS = 200;
/** Log: how often waiting entries are looked at. */
export const LOG_TICK_MS = 100;
/** Log: entries in flight. While they are under way, further writes gather and share the next entry. */
export const LOG_ENTRIES_IN_FLIGHT = 4;
/** Log: writes and text in one entry. A single write may exceed the text. */
export const LOG_WRITES_TOGETHER = 64;
export const LOG_CHARACTERS_TOGETHER = 512 * 1024;
/** Log: writes that wait or are under way. More are refused. */
export const LOG_WRITES_WAITING = 4_096;
/** Log: text of writes that wait or are under way. One write always has room. */
export const LOG_CHARACTERS_WAITING = 64 * 1024 * 1024;
/** Log: left of the server's `max_payload` for headers. */
export const LOG_PAYLOAD_MARGIN_BYTES = 4 * 1024;
/** Log: sessions that are known. A process has one at a time. */
export const LOG_SESSIONS_MAX = 1_024;
/** Log: positions for which a state machine can compare its digest with that of another. */
export const LOG_DIGESTS_KEPT = 8_192;
/** Log: other sessions whose agreement is remembered, and for how long. */
export const LOG_WITNESSES_MAX = 64;
export const LOG_WITNESS_VALID_MS = 60_000;
export const LOG_REQUEST_TIMEOUT_MS = 3_000;
/** Log: what has no answer yet is asked again: what was asked before an election is never answered. */
export const LOG_ASK_AGAIN_MS = 500;
export const LOG_CONNECT_TIMEOUT_MS = 3_000;
/** Log: a server that leaves this many pings unanswered is lost. */
export const LOG_PING_INTERVAL_MS = 1_000;
export const LOG_PINGS_UNANSWERED = 3;
export const LOG_RETRY_FIRST_MS = 50;
export const LOG_RETRY_LONGEST_MS = 1_000;
export const LOG_START_TIMEOUT_MS = 30_000;
/** Log: a running process that finds this often in a row that the log lacks entries halts the store. A start reads as often. */
export const LOG_INCOMPLETE_READINGS = 5;
/** Log: the consumer says that it lives; after this silence it is replaced. */
export const LOG_HEARTBEAT_MS = 500;
export const LOG_SILENCE_MS = 2_000;
/** Log: a consumer that says so often in a row that it has nothing to deliver, although the log holds more, is replaced. */
export const LOG_IDLE_HEARTBEATS_MAX = 4;
export const LOG_CONSUMER_INACTIVE_MS = 10_000;
/** Log: how often it is checked that everything the guarantees rely on is in force. */
export const LOG_GUARANTEE_INTERVAL_MS = 30_000;
/** Log: how soon it is checked again while something is not in force. */
export const LOG_GUARANTEE_AGAIN_MS = 2_000;
/** Log: a check that did not come through for this long counts as failed. */
export const LOG_GUARANTEE_VALID_MS = 90_000;
/** Log: entries and bytes after which a snapshot is taken and the log before the previous one is dropped. */
export const LOG_SNAPSHOT_ENTRIES = 20_000;
export const LOG_SNAPSHOT_BYTES = 64 * 1024 * 1024;
/** Log: text in one message of a snapshot. */
export const LOG_SNAPSHOT_PART_BYTES = 512 * 1024;

// Relations between limits. A violation fails every test of this library.
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
invariant(LOG_STALLED_AFTER_MS < LOG_WRITE_DEADLINE_MS, 'a log that stalls is reported before its writes are given up');
invariant(LOG_HEARTBEAT_MS < LOG_SILENCE_MS, 'a consumer that lives is not replaced');
invariant(LOG_GUARANTEE_INTERVAL_MS < LOG_GUARANTEE_VALID_MS, 'one failed check does not end the service');
invariant(
  LOG_GUARANTEE_AGAIN_MS < LOG_GUARANTEE_INTERVAL_MS,
  'a store serves again soon after a guarantee is in force',
);
invariant(LOG_DIGESTS_KEPT > 64 * LOG_ENTRIES_IN_FLIGHT, 'a claim can be compared when its entry arrives');
