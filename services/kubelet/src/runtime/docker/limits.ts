import { invariant } from '@holdfast/platform/invariant';

/** Every number that bounds the talk with a Docker engine. Units are in the names. */

/** For requests that the engine serves from memory. */
export const QUICK_DEADLINE_MS = 10_000;
/** For requests that create processes, networks or file systems. */
export const WORK_DEADLINE_MS = 120_000;
/** The engine serves a connection that carries a stream after this at the latest. */
export const STREAM_OPEN_MS = 10_000;
/** A stop that takes this much longer than its grace is not confirmed. */
export const STOP_CONFIRM_MS = 30_000;
/** For containers that outlived their sandbox. */
export const LEFT_OVER_GRACE_MS = 2_000;
/** Retry interval of the stream of events, and of a broken log stream. */
export const LISTEN_RETRY_MS = 1_000;
/** The reason of an end (an out-of-memory kill) may be known later: until then the end is read again. */
export const EXIT_SETTLES_MS = 5_000;
/** Output of `exec` beyond this is cut. */
export const EXEC_OUTPUT_MAX_BYTES = 64 * 1024;
/** The engine reports the end of a command shortly after the end of its output. */
export const EXEC_END_POLL_MS = 20;
export const EXEC_END_LOOKS_MAX = 1_500;
/** A command that cannot enter its container fails as one that does not exist; the end of the container is known within half a second. */
export const CONTAINER_END_LOOKS_MAX = 25;
/** How long the output of a command may go on after its container. */
export const LAST_OUTPUT_MS = 500;
/** The last processes of a killed container disappear shortly after its first one. */
export const PROCESSES_GONE_POLL_MS = 20;
export const PROCESSES_GONE_LOOKS_MAX = 1_500;
/** How long the end of a container waits for the rest of its log. */
export const LOG_DRAIN_MS = 5_000;
/** One line, or part of one, in an answer of the engine. */
export const FRAME_MAX_BYTES = 16 * 1024 * 1024;
/** A longer line of a terminal is written in parts: the engine cuts other output at this size, too. */
export const TERMINAL_LINE_MAX_BYTES = 16 * 1024;
/** Answers of the engine that are kept as a whole. */
export const ANSWER_MAX_BYTES = 64 * 1024 * 1024;
/** Kubernetes calls off a pull that made no progress for this long. */
export const PULL_STALL_MS = 120_000;
/** The engine's own copy of each log: read only while it is carried over to the file of the node. */
export const ENGINE_LOG_MAX_SIZE = '10m';
export const ENGINE_LOG_FILES_MAX = '2';
/** For the connection to a port of a pod. */
export const PORT_CONNECT_MS = 10_000;

invariant(QUICK_DEADLINE_MS < WORK_DEADLINE_MS, 'longer work has a longer deadline');
invariant(LEFT_OVER_GRACE_MS < STOP_CONFIRM_MS, 'a leftover container has its grace before its stop fails');
invariant(LOG_DRAIN_MS < QUICK_DEADLINE_MS, 'a missing end of a log delays no list beyond its deadline');

/** Of one pull. Images have 127 layers at most; more are not counted. */
export const PULL_LAYERS_MAX = 200;
