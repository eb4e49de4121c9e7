import { invariant } from '@holdfast/platform/invariant';

/** First back-off of a failed work queue key. It doubles with every further failure (client-go's values). */
export const QUEUE_BACKOFF_BASE_MS = 5;
export const QUEUE_BACKOFF_MAX_MS = 1_000_000;

/**
 * Objects per page of a first list or a relist: large enough for few round trips, small enough to hold one response in
 * memory.
 */
export const LIST_PAGE_OBJECTS = 2_000;

/**
 * Wait between attempts to list, watch or subscribe while the API or the bus is unavailable. It doubles, with jitter.
 */
export const RECONNECT_BACKOFF_BASE_MS = 200;
export const RECONNECT_BACKOFF_MAX_MS = 15_000;

/** A watch that was open for at least this long counts as a success: the next one starts without a wait. */
export const WATCH_SUCCESS_MS = 5_000;

/** Bookmarks arrive about once a minute. A watch that is silent for this long is half-open. */
export const WATCH_IDLE_MS = 90_000;

/** The same when a running bus has named changes for the watch. Longer than a request's deadline. */
export const WATCH_DEBT_IDLE_MS = 30_000;

/** One side of a joined connection has this long for what the other side, which has ended, had sent. */
export const JOINED_DRAIN_MS = 30_000;

/** A watch that fetched changes without content on the bus stays open until none arrived for this long. */
export const WATCH_LINGER_MS = 250;

/**
 * Heartbeats arrive every five seconds. After three missed ones the informer stops trusting the bus and watches the
 * API.
 */
export const BUS_HEARTBEAT_TIMEOUT_MS = 16_000;

/** An informer asks the API after this many heartbeats in a row that are behind its copy. */
export const BEATS_BEHIND_MAX = 3;

/** The informer checks even a healthy bus against the API at this interval. */
export const SAFETY_CHECK_INTERVAL_MS = 5 * 60_000;

/**
 * Remembered deletions, so that a late message cannot bring an object back. Beyond this number the informer checks with
 * the API.
 */
export const TOMBSTONES_MAX = 65_536;

/** Deadline of one reconcile pass. Then its signal aborts and its worker takes other keys. */
export const RECONCILE_DEADLINE_MS = 60_000;

/** Conflicts that are retried immediately. Further ones back off, because the local copy has not caught up yet. */
export const IMMEDIATE_CONFLICT_RETRIES = 3;

/** client-go's values. The elector checks the relations between them when it is created. */
export const LEASE_DURATION_MS = 15_000;
export const LEASE_RENEW_DEADLINE_MS = 10_000;
export const LEASE_RETRY_PERIOD_MS = 2_000;
export const LEASE_RETRY_JITTER = 1.2;

/** Events in the queue, about half a kilobyte each. More are dropped and counted. */
export const EVENT_QUEUE_MAX = 10_000;
/** Events written in one turn of the event loop; each turn is a timer and a return to the system. */
export const EVENTS_PER_TURN = 8;
/**
 * A turn that is this late shows that the process has other work. Then it writes one event, unless that event has
 * waited for long.
 */
export const EVENT_LATE_TURN_MS = 5;
export const EVENT_PATIENCE_MS = 10_000;
export const EVENT_ATTEMPTS_MAX = 5;
export const EVENT_RETRY_MS = 2_000;
/** Events remembered to raise their counts. */
export const EVENT_CACHE_MAX = 4_096;
/** Different messages with one reason about one object within ten minutes, before they are combined into one event. */
export const EVENT_SIMILAR_MAX = 10;
export const EVENT_SIMILAR_WINDOW_MS = 10 * 60_000;
/** Event budget per object: this many in a burst, then one every five minutes. */
export const EVENT_BURST = 25;
export const EVENT_REFILL_MS = 5 * 60_000;
/** A series ends after this time without an occurrence (client-go's value). */
export const EVENT_SERIES_END_MS = 6 * 60_000;
/** The API's length limit of `reportingInstance`. */
export const EVENT_INSTANCE_CHARACTERS_MAX = 128;

/**
 * Deadline of one request from first attempt to response, over all servers. Longer than a server's ten seconds for a
 * write.
 */
export const REQUEST_DEADLINE_MS = 30_000;
/** Maximum repetitions of a request that was rejected with 429 and a Retry-After (client-go's value). */
export const TURNED_AWAY_REPEATS_MAX = 10;
/** Time-out of TCP and TLS to one server. Then the client tries the next server. */
export const CONNECT_TIMEOUT_MS = 5_000;
/** A failed server is tried last for this time. It doubles with every failure. */
export const SERVER_BACKOFF_BASE_MS = 500;
export const SERVER_BACKOFF_MAX_MS = 30_000;
/** With several servers: one that is silent for this long while requests wait is avoided, and asked whether it is there. */
export const SERVER_SILENT_MS = 1_000;
/** One that does not answer that within this time is gone: its watches and reads move to another. */
export const SERVER_PROBE_MS = 2_000;
/** Between two such questions to a server that answers, and has a request that takes long. */
export const SERVER_PATIENCE_MAX_MS = 8_000;
/** Connections per server for requests, and for watches (one each). */
export const REQUEST_SOCKETS_MAX = 64;
export const WATCH_SOCKETS_MAX = 512;
/** Larger than any page of a list. */
export const RESPONSE_BYTES_MAX = 256 * 1024 * 1024;
/** Larger than any object (1.5 MiB) with its frame. */
export const WATCH_LINE_BYTES_MAX = 4 * 1024 * 1024;

/** Minimum interval between reads of a token file. */
export const TOKEN_RELOAD_MS = 60_000;

/** Bus messages whose parsed content the informers of a process share, and the maximum length of one. */
export const SHARED_MESSAGES = 32;
export const SHARED_MESSAGE_CHARACTERS_MAX = 32_768;

/** Largest response of an aggregated server that is read as one document. A page of 500 objects is far smaller. */
export const STREAMED_ANSWER_BYTES_MAX = 16 * 1024 * 1024;

// Relations between limits. A violation fails every test of this library.
invariant(LEASE_RENEW_DEADLINE_MS < LEASE_DURATION_MS, 'a leader stops before another one may begin');
invariant(
  LEASE_RETRY_PERIOD_MS * LEASE_RETRY_JITTER < LEASE_RENEW_DEADLINE_MS,
  'a leader tries to renew before it stops',
);
invariant(QUEUE_BACKOFF_BASE_MS <= QUEUE_BACKOFF_MAX_MS, 'the back-off of keys begins with the shortest delay');
invariant(
  RECONNECT_BACKOFF_BASE_MS <= RECONNECT_BACKOFF_MAX_MS,
  'the back-off of watches begins with the shortest delay',
);
invariant(SERVER_BACKOFF_BASE_MS <= SERVER_BACKOFF_MAX_MS, 'the back-off of servers begins with the shortest delay');
invariant(CONNECT_TIMEOUT_MS < REQUEST_DEADLINE_MS, 'another server can be tried within one request');
invariant(SERVER_SILENT_MS + SERVER_PROBE_MS < CONNECT_TIMEOUT_MS, 'silence is found before a connection is given up');
invariant(REQUEST_DEADLINE_MS < RECONCILE_DEADLINE_MS, 'a pass survives one request that gets no answer');
invariant(SHARED_MESSAGE_CHARACTERS_MAX <= WATCH_LINE_BYTES_MAX, 'a shared message is no longer than a line');

/** Queued work remembers this many spans that asked for it; one trace with more links is not read by anybody. */
export const CAUSES_MAX = 8;
/** With tracing on, this many keys at once. */
export const CAUSED_KEYS_MAX = 10_000;
