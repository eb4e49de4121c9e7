export const HEARTBEAT_INTERVAL_MS = 5_000;

/** A channel is named in this many heartbeats after its last change, so that losing some of them still proves nothing wrong. */
export const TAIL_WINDOW_MS = 4 * HEARTBEAT_INTERVAL_MS;

/** Channels named in one heartbeat, most recent first: bounds what every kubelet receives every interval to some kilobytes. */
export const MAX_TAILS_PER_HEARTBEAT = 200;

/** Channels whose last revision is remembered; an older one only loses its gap detection. Well above nodes + kinds. */
export const MAX_REMEMBERED_CHANNELS = 20_000;

/** Pods remembered as already bound; when forgotten, a harmless second departure may be published. */
export const MAX_REMEMBERED_BOUND_PODS = 200_000;

/** Check interval of a standby relay for the progress of the active one. */
export const STANDBY_LOOK_MS = 500;

export const RETRY_FIRST_MS = 100;
export const RETRY_LONGEST_MS = 5_000;

/** Characters of changes in flight to the bus; a single change may exceed it. */
export const MAX_CHARACTERS_AHEAD = 4 * 1024 * 1024;

/** Objects that were parsed for subscribers in this process, kept for the next who asks for the same. */
export const STATES_READ_KEPT = 16;
