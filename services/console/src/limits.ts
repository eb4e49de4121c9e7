/** One-time links that wait to be used. Each is for a person who just asked for it. */
export const CODES_MAX = 16;
/** From the start line to the browser: long enough to switch windows, too short to be found in a log later. */
export const CODE_LIFETIME_MS = 10 * 60_000;
/** The same attempt to sign in may come again for this long after a code was used: its answer may have been lost. */
export const ATTEMPT_LIFETIME_MS = 30_000;
/** Browsers that are signed in. The oldest session makes room. */
export const SESSIONS_MAX = 64;
/** A working day. The token behind it may end earlier. */
export const SESSION_LIFETIME_MS = 12 * 60 * 60_000;
/** A sign-in carries a code or a token. */
export const SIGN_IN_BYTES_MAX = 16 * 1024;
/** All files of the console, compressed; a test measures them. */
export const BUNDLE_BYTES_MAX = 200_000;
/** Files that the package carries: more is a mistake in a folder. */
export const BUNDLE_FILES_MAX = 16;
/** From the page's request to its WebSocket, which follows at once. */
export const TICKET_LIFETIME_MS = 30_000;
export const TICKETS_OF_SESSION_MAX = 4;
/** All sessions together. */
export const TICKETS_MAX = 64;
/**
 * Requests, watches, logs and terminals that are open at the API servers at a time, for a console in a process of its own.
 * A page has about ten.
 */
export const UPSTREAM_REQUESTS_OF_USER_MAX = 128;
/** Below the connections that the transport opens to one server. */
export const UPSTREAM_REQUESTS_MAX = 480;
/** What a person types while a terminal connects; a paste that is longer is left out. */
export const HELD_KEYS_CHARS_MAX = 4096;
/** Writes of one session that are under way or whose answers are kept. A page makes one at a time. */
export const WRITES_OF_SESSION_MAX = 8;
/** Longer than a page repeats a write whose connection broke. */
export const WRITE_KEPT_MS = 30_000;
/** A write has no connection to end with, and an API server sets a request without `timeout` no deadline. */
export const WRITE_DEADLINE_MS = 2 * 60_000;
/** A longer answer is passed on once, and not kept. */
export const WRITE_ANSWER_BYTES_MAX = 64 * 1024;
