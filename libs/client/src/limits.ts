import { invariant } from '@holdfast/platform/invariant';

/** First wait of a work queue key that failed; doubles with every further failure (the values of client-go). */
export const QUEUE_BACKOFF_BASE_MS = 5;
export const QUEUE_BACKOFF_MAX_MS = 1_000_000;

/** Objects per page of a first list or a relist: large enough for few round trips, small enough for one answer in memory. */
export const LIST_PAGE_OBJECTS = 2_000;

/** Wait between attempts to list, watch or subscribe while the API or the bus is away: doubles, with jitter. */
export const RECONNECT_BACKOFF_BASE_MS = 200;
export const RECONNECT_BACKOFF_MAX_MS = 15_000;

/** A watch that was served for at least this long was a success: the next one starts without waiting. */
export const WATCH_SUCCESS_MS = 5_000;

/** Bookmarks come about once a minute: a watch that says nothing for this long is half-open. */
export const WATCH_IDLE_MS = 90_000;

/** A watch that says nothing for this long although the bus, which goes on, has named changes for it: above a request's deadline. */
export const WATCH_DEBT_IDLE_MS = 30_000;

/** A watch that fetched changes whose content is not on the bus stays open until none of them came for this long. */
export const WATCH_LINGER_MS = 250;

/** Heartbeats come every five seconds; after three missed ones the bus is not trusted and the informer watches the API. */
export const BUS_HEARTBEAT_TIMEOUT_MS = 16_000;

/** Heartbeats in a row that are behind what an informer has seen, before it asks the API. */
export const BEATS_BEHIND_MAX = 3;

/** Even a bus that looks well is checked against the API now and then. */
export const SAFETY_CHECK_INTERVAL_MS = 5 * 60_000;

/** Deletions remembered so that a late message cannot bring an object back; more than this asks for a check with the API. */
export const TOMBSTONES_MAX = 65_536;

/** Longest pass of a reconcile function: then its signal aborts and its worker turns to other keys. */
export const RECONCILE_DEADLINE_MS = 60_000;

/** Conflicts that are tried again at once; further ones back off, because the local copy has not caught up yet. */
export const IMMEDIATE_CONFLICT_RETRIES = 3;

/** The values of client-go; what has to hold between them is checked when an elector is created. */
export const LEASE_DURATION_MS = 15_000;
export const LEASE_RENEW_DEADLINE_MS = 10_000;
export const LEASE_RETRY_PERIOD_MS = 2_000;
export const LEASE_RETRY_JITTER = 1.2;

/** Events waiting to be written, about half a kilobyte each; more are dropped and counted. */
export const EVENT_QUEUE_MAX = 10_000;
/** Events written in one turn of the event loop; each turn is a timer and a return to the system. */
export const EVENTS_PER_TURN = 8;
/** A turn that comes so late says that the process has other work: it writes one event, unless that one has waited for long. */
export const EVENT_LATE_TURN_MS = 5;
export const EVENT_PATIENCE_MS = 10_000;
export const EVENT_ATTEMPTS_MAX = 5;
export const EVENT_RETRY_MS = 2_000;
/** Events remembered for counting up. */
export const EVENT_CACHE_MAX = 4_096;
/** Different messages of one reason about one object within ten minutes before they are combined into one event. */
export const EVENT_SIMILAR_MAX = 10;
export const EVENT_SIMILAR_WINDOW_MS = 10 * 60_000;
/** Per object: this many events at once, then one every five minutes. */
export const EVENT_BURST = 25;
export const EVENT_REFILL_MS = 5 * 60_000;
/** A series has ended when nothing was heard of it for this long (the value of client-go). */
export const EVENT_SERIES_END_MS = 6 * 60_000;
/** Longest `reportingInstance` that the API takes. */
export const EVENT_INSTANCE_CHARACTERS_MAX = 128;

/** One request from first try to answer, over all servers. Above the ten seconds a server gives a write. */
export const REQUEST_DEADLINE_MS = 30_000;
/** Times that a request is sent again because it was turned away with 429 and a Retry-After (the value of client-go). */
export const TURNED_AWAY_REPEATS_MAX = 10;
/** TCP and TLS to one server; then the next server is tried. */
export const CONNECT_TIMEOUT_MS = 5_000;
/** A server that failed is tried last for a while; the wait doubles with every failure. */
export const SERVER_BACKOFF_BASE_MS = 500;
export const SERVER_BACKOFF_MAX_MS = 30_000;
/** Connections per server for requests, and for watches (one each). */
export const REQUEST_SOCKETS_MAX = 64;
export const WATCH_SOCKETS_MAX = 512;
/** Above any page of a list. */
export const RESPONSE_BYTES_MAX = 256 * 1024 * 1024;
/** Above any object (1.5 MiB) with its frame. */
export const WATCH_LINE_BYTES_MAX = 4 * 1024 * 1024;

/** A token file is read again at most this often. */
export const TOKEN_RELOAD_MS = 60_000;

/** Bus messages whose reading is shared by the informers of a process, and the longest of them. */
export const SHARED_MESSAGES = 32;
export const SHARED_MESSAGE_CHARACTERS_MAX = 32_768;

/** Largest answer of a server behind the API server that is read as one document: a page of 500 objects has far less. */
export const STREAMED_ANSWER_BYTES_MAX = 16 * 1024 * 1024;

// Relations between limits. A change that breaks one fails every test of the room.
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
invariant(REQUEST_DEADLINE_MS < RECONCILE_DEADLINE_MS, 'a pass survives one request that gets no answer');
invariant(SHARED_MESSAGE_CHARACTERS_MAX <= WATCH_LINE_BYTES_MAX, 'a shared message is no longer than a line');
