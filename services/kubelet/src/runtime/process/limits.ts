/** Bounds of the process runtime and its supervisor. Units are in the names. */

/** Poll interval of an adopted process: the system does not report its end. */
export const ADOPTED_POLL_MS = 200;
/** After the kill: how long every process of a container may take to vanish before the stop is reported unconfirmed. */
export const DEATH_CONFIRM_MS = 10_000;
/** Poll interval of the process table while waiting for an end. */
export const DEATH_POLL_MS = 20;
/** Looks at the process table that come within this time share one reading of it. */
export const PROCESS_SCAN_BATCH_MS = 2;
/**
 * Interval of the looks for processes that left their container's session. The pause between two looks is at least this many
 * times the duration of the last one.
 */
export const MEMBER_LOOK_MS = 2_000;
export const MEMBER_LOOK_SHARE = 50;
/** How long a process that begins a program, of any container, delays the word that no process of one is left. */
export const PROGRAM_START_MS = 1_000;
/** Check interval of an idle supervisor: it exits without pods and starts again with the next one. */
export const IDLE_EXIT_MS = 10_000;
/** Poll interval of a growing log, and the number of polls without growth after which it counts as quiet. */
export const LOG_TIME_POLL_MS = 50;
export const LOG_TIME_QUIET_POLLS = 20;
/** A file of times that is longer keeps half of its records. */
export const LOG_TIMES_MAX_BYTES = 1024 * 1024;
/** Bytes of a log's end that are searched for a newline. */
export const LINE_SEARCH_BYTES = 64 * 1024;
/** Bytes of a log per copy step. */
export const COPY_BLOCK_BYTES = 1024 * 1024;
/** Deadline of the program that releases blocks of a log. */
export const PUNCH_DEADLINE_MS = 30_000;
/** A longer line ends the connection: neither side sends one. */
export const LINE_MAX_BYTES = 16 * 1024 * 1024;
/** Why a command could not be started: more is cut. */
export const FAILURE_MAX_LENGTH = 16 * 1024;
export const EXEC_OUTPUT_MAX_BYTES = 64 * 1024;

/** Unread bytes per stream of an exec or attach between supervisor and kubelet. */
export const STREAM_WINDOW_BYTES = 256 * 1024;
export const STREAM_FRAME_MAX_BYTES = 64 * 1024;
/** Check interval whether outputs of an ended command are still being delivered; without progress they are closed. */
export const EXEC_DRAIN_MS = 500;
/** A terminal is there a moment after its command was started. */
export const TERMINAL_POLL_MS = 20;
export const TERMINAL_POLL_ATTEMPTS = 100;
/** Poll interval for the end of an attached container; its output is event-driven. */
export const ATTACH_POLL_MS = 200;

/** Connection deadline for a port of a local pod. */
export const PORT_CONNECT_MS = 10_000;

/** Deadline of a look at what a container is to see, below that of the request for its start; and how many wait at most. */
export const VIEW_DEADLINE_MS = 8_000;
export const VIEW_WORKERS_MAX = 16;
/** Deadline of the test whether this user may mount. */
export const ABILITY_TEST_MS = 5_000;

/** For requests that only read or write small files. */
export const REQUEST_DEADLINE_MS = 10_000;
export const SUPERVISOR_START_DEADLINE_MS = 10_000;
/** How many supervisors in a row may exit during one request. */
export const ASK_ATTEMPTS_MAX = 5;
export const SUPERVISOR_START_POLL_MS = 10;
/** Retry interval for restarting a supervisor that exited while pods ran. */
export const SUPERVISOR_RETRY_MS = 1_000;
/** `sun_path` holds 108 bytes with its end mark. */
export const SOCKET_PATH_MAX_BYTES = 107;

/** Check interval of supervisor and watchdog for the deadline of the node's promise. */
export const WATCHDOG_LOOK_MS = 200;
/** The scheduling priority of the watchdog: ahead of pods and kubelet, which have 0. */
export const WATCHDOG_NICENESS = -15;
export const WATCHDOG_START_DEADLINE_MS = 3_000;
/** A watchdog that takes longer to answer counts as none. */
export const WATCHDOG_ANSWER_MS = 1_000;
/** The starter of a watchdog connects to it within this time. */
export const WATCHDOG_START_GRACE_MS = 10_000;
/** The machine was suspended when its clocks differ by this much more than before. */
export const SUSPEND_TOLD_MS = 1_000;

/** Retry interval for a write to a full disk. */
export const RECORD_RETRY_MS = 1_000;

if (DEATH_CONFIRM_MS < 10 * DEATH_POLL_MS) throw new Error('death needs several looks to be confirmed');
