import { invariant } from '@holdfast/platform/invariant';

/** Every number that bounds the talk with a container runtime. Units are in the names. */

/** For requests that a runtime serves from memory. */
export const QUICK_DEADLINE_MS = 10_000;
/** For requests that create processes, networks or file systems. */
export const WORK_DEADLINE_MS = 120_000;
/** A stop that takes this much longer than its grace is not confirmed. */
export const STOP_CONFIRM_MS = 30_000;
/** For containers that outlived their sandbox. */
export const LEFT_OVER_GRACE_MS = 2_000;
/** Poll interval of a runtime without events. */
export const RELIST_MS = 1_000;
/** Retry interval of the event stream. */
export const LISTEN_RETRY_MS = 1_000;
/** A runtime may report the reason of an end (an out-of-memory kill) later: until then the end is read again. */
export const EXIT_SETTLES_MS = 5_000;
/** Output of `exec` beyond this is cut. */
export const EXEC_OUTPUT_MAX_BYTES = 64 * 1024;
/** For the runtime's streaming server, which is on this machine. */
export const STREAM_OPEN_MS = 10_000;
/** The end of a container is reported shortly after the end of a process beside it. */
export const CONTAINER_END_LOOKS = 3;
/** While the container is being stopped: a busy machine is slow. */
export const CONTAINER_STOP_LOOKS = 100;
export const CONTAINER_END_POLL_MS = 100;
/** How long to wait for a refusal from a port without a listener, when the kernel shows no listeners. */
export const PORT_REFUSAL_MS = 1_000;
/** A pull without an end. Kubernetes calls one off that makes no progress; here it has this long. */
export const PULL_DEADLINE_MS = 30 * 60_000;

// Relations between limits. A change that breaks one fails every test of the room.
invariant(
  QUICK_DEADLINE_MS < WORK_DEADLINE_MS && WORK_DEADLINE_MS < PULL_DEADLINE_MS,
  'longer work has a longer deadline',
);
invariant(RELIST_MS < EXIT_SETTLES_MS, 'an end is read again while its reason may change');
invariant(LEFT_OVER_GRACE_MS < STOP_CONFIRM_MS, 'a leftover container has its grace before its stop fails');
