/** Every number that bounds the talk with a container runtime. Units are in the names. */

/** For what a runtime answers from memory. */
export const QUICK_DEADLINE_MS = 10_000;
/** For what makes processes, networks or file systems. */
export const WORK_DEADLINE_MS = 120_000;
/** A stop that takes this much longer than its grace is not confirmed. */
export const STOP_CONFIRM_MS = 30_000;
/** For containers that outlived their sandbox. */
export const LEFT_OVER_GRACE_MS = 2_000;
/** Between looks at what runs, where the runtime tells no events. */
export const RELIST_MS = 1_000;
/** Between attempts to listen to a runtime that went away. */
export const LISTEN_RETRY_MS = 1_000;
/** Why a container ended may be told a moment after its end (a kill for lack of memory): until then it is asked again. */
export const EXIT_SETTLES_MS = 5_000;
/** Output of `exec` beyond this is cut. */
export const EXEC_OUTPUT_MAX_BYTES = 64 * 1024;
/** To the streaming server of the runtime, which is on this machine. */
export const STREAM_OPEN_MS = 10_000;
/** The end of a container is told a moment after the end of what ran beside it. */
export const CONTAINER_END_LOOKS = 3;
/** While somebody stops the container: a busy machine takes its time. */
export const CONTAINER_STOP_LOOKS = 100;
export const CONTAINER_END_POLL_MS = 100;
/** How long one waits to be told that nobody listens at a port, where the kernel does not show a listener. */
export const PORT_REFUSAL_MS = 1_000;
/** A pull without an end. Kubernetes calls one off that makes no progress; here it has this long. */
export const PULL_DEADLINE_MS = 30 * 60_000;
