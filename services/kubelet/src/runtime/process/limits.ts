/** Bounds of the process runtime and its supervisor. Units are in the names. */

/** Between looks at a process that was adopted, not spawned: the system does not tell us when it ends. */
export const ADOPTED_POLL_MS = 200;
/** After the kill: how long every process of a container may take to vanish before the stop is reported unconfirmed. */
export const DEATH_CONFIRM_MS = 10_000;
/** Between looks at the process table while waiting for death. */
export const DEATH_POLL_MS = 20;
/** Looks at the process table that come within this time share one reading of it. */
export const PROCESS_SCAN_BATCH_MS = 2;
/** How often the supervisor looks whether it has nothing to keep: then it ends, and comes back with the next pod. */
export const IDLE_EXIT_MS = 10_000;
/** Between looks at a log that grows, and how many looks without growth make it a quiet one. */
export const LOG_TIME_POLL_MS = 50;
export const LOG_TIME_QUIET_POLLS = 20;
/** Where a line ends is looked for in this much of a log's end. */
export const LINE_SEARCH_BYTES = 64 * 1024;
/** Of a log at once, while it is copied. */
export const COPY_BLOCK_BYTES = 1024 * 1024;
/** For the program that gives blocks of a log back to the disk. */
export const PUNCH_DEADLINE_MS = 30_000;
/** A longer line ends the connection: neither side sends one. */
export const LINE_MAX_BYTES = 16 * 1024 * 1024;
/** Why a command could not be started: more is cut. */
export const FAILURE_MAX_LENGTH = 16 * 1024;
export const EXEC_OUTPUT_MAX_BYTES = 64 * 1024;

/** What may be on its way unread, for each stream of an exec or attach between supervisor and kubelet. */
export const STREAM_WINDOW_BYTES = 256 * 1024;
export const STREAM_FRAME_MAX_BYTES = 64 * 1024;
/** How often one looks whether outputs of a command that ended are still being delivered; without news they are closed. */
export const EXEC_DRAIN_MS = 500;
/** A terminal is there a moment after its command was started. */
export const TERMINAL_POLL_MS = 20;
export const TERMINAL_POLL_ATTEMPTS = 100;
/** Between looks at whether a container has ended that somebody is attached to; what it writes is told by the system. */
export const ATTACH_POLL_MS = 200;

/** To a port of a pod of this machine. */
export const PORT_CONNECT_MS = 10_000;

/** For the trial that shows whether this user may mount. */
export const ABILITY_TEST_MS = 5_000;

/** For requests that only read or write small files. */
export const REQUEST_DEADLINE_MS = 10_000;
export const SUPERVISOR_START_DEADLINE_MS = 10_000;
/** How many supervisors in a row may go away under one request. */
export const ASK_ATTEMPTS_MAX = 5;
export const SUPERVISOR_START_POLL_MS = 10;
/** Between attempts to bring back a supervisor that went away while pods ran. */
export const SUPERVISOR_RETRY_MS = 1_000;
/** `sun_path` holds 108 bytes with its end mark. */
export const SOCKET_PATH_MAX_BYTES = 107;

/** Between looks of the supervisor and of the watchdog at the deadline of the node's promise. */
export const WATCHDOG_LOOK_MS = 200;
export const WATCHDOG_START_DEADLINE_MS = 3_000;
/** A watchdog that takes longer to answer counts as none. */
export const WATCHDOG_ANSWER_MS = 1_000;
/** Who starts a watchdog connects to it within this time. */
export const WATCHDOG_START_GRACE_MS = 10_000;
/** The machine was suspended when its clocks differ by this much more than before. */
export const SUSPEND_TOLD_MS = 1_000;

/** Between attempts to write what a full disk did not take. */
export const RECORD_RETRY_MS = 1_000;

if (DEATH_CONFIRM_MS < 10 * DEATH_POLL_MS) throw new Error('death needs several looks to be confirmed');
