import { invariant } from '@holdfast/platform/invariant';
import { PROMISE_ANSWER_MS, PROMISE_RENEW_MS, PROMISE_RETRY_MS, PROMISE_SECONDS } from './self-fencing/limits.ts';

/** Every number that bounds the kubelet's work. Units are in the names. */

/** Kubernetes' default for `nodeLeaseDurationSeconds`; the control plane calls a node unknown after it. */
export const LEASE_DURATION_SECONDS = 40;
/** A quarter of the lease: three renewals may be lost. */
export const LEASE_RENEW_MS = 10_000;
/** A node whose heartbeats fail for this long says of itself that it is not well. */
export const HEARTBEAT_LATE_MS = 2 * LEASE_RENEW_MS;
/** A node status that did not change is written this often; one that changed, with the next lease. */
export const NODE_STATUS_REPORT_MS = 300_000;
/** Kubernetes' default for `maxPods`. */
export const MAX_PODS_PER_NODE = 110;

export const CONTAINER_BACK_OFF_INITIAL_MS = 10_000;
export const CONTAINER_BACK_OFF_MAX_MS = 300_000;
/** A container that ran this long before it exited starts its back-off anew. */
export const CONTAINER_BACK_OFF_RESET_MS = 600_000;

/** No process gets less time between the stop signal and the kill. */
export const MIN_CONTAINER_GRACE_SECONDS = 2;
export const MIN_POD_GRACE_SECONDS = 1;
/** Grace of processes whose pod object is gone: nobody can tell any more what was asked for. */
export const ORPHAN_GRACE_SECONDS = 2;

/** First wait after a failed pass over a pod, doubled up to the second number. */
export const POD_RETRY_INITIAL_MS = 500;
export const POD_RETRY_MAX_MS = 30_000;
/** A lost notification of the runtime delays a pod by at most this. */
export const RUNTIME_RELIST_MS = 30_000;
/** Between attempts to create a container that could not be created. */
export const START_RETRY_MS = 10_000;
/** How long a status shows why a pull failed before it shows that the next one waits. */
export const IMAGE_ERROR_SHOWN_MS = 1_000;
/** Of a node's status, as everywhere. */
export const NODE_IMAGES_MAX = 50;
export const NODE_IMAGE_NAMES_MAX = 5;
/** Between questions to the container runtime how it is. */
export const RUNTIME_HEALTH_MS = 5_000;
/** Between looks whether a volume is attached, doubled up to the second number. It may take for ever. */
export const ATTACH_RETRY_INITIAL_MS = 100;
export const ATTACH_RETRY_MAX_MS = 2_000;
/** So many of them go by, the first time and every time, before the pod is told: about half a minute. */
export const ATTACH_WAITS_UNTOLD = 16;
/** Between attempts to make a pod's volumes: doubled up to `START_RETRY_MS`. What they need often follows in a moment. */
export const VOLUME_RETRY_INITIAL_MS = 250;
/** Containers that start together do not read the volumes of their pod again. */
export const VOLUME_FRESH_MS = 1_000;
/** How old files from ConfigMaps and Secrets get in a running pod. */
export const VOLUME_REFRESH_MS = 60_000;
/** A token is replaced after this part of its life. */
export const TOKEN_RENEW_SHARE = 0.8;
/** Between attempts to stop a container whose end could not be confirmed. */
export const STOP_RETRY_MS = 5_000;
/** One-off addition for a preStop hook that still runs when the grace ends. */
export const PRE_STOP_EXTENSION_MS = 2_000;
/** For what the node does for itself before a container ends. */
export const INTERNAL_HOOK_MS = 30_000;
/** How often a probe asks at once whose check could not be made, as everywhere. */
export const PROBE_ATTEMPTS_MAX = 3;
/** For hooks that do not say how long they may take. */
export const POST_START_TIMEOUT_MS = 60_000;
/** Logs are read in blocks of this size and, when followed, looked at this often. */
export const LOG_BLOCK_BYTES = 64 * 1024;
export const LOG_FOLLOW_POLL_MS = 100;
/** How long an answer about who may ask this node is believed, and how many are kept. */
export const ACCESS_KEPT_MS = 30_000;
export const ACCESS_KEPT_MAX = 1_000;
/** A request to this node is a few lines. */
export const NODE_REQUEST_RECEIVE_MS = 30_000;
/** A health answer is a few bytes; a peer that sends more is no health service. */
export const GRPC_ANSWER_MAX_BYTES = 4 * 1024;
export const POD_LIST_PAGE = 500;
/** Files of static pods are looked at this often even when nothing tells of a change, as everywhere. */
export const STATIC_POD_POLL_MS = 20_000;
/** A file that is being written is read once its writer paused. */
export const STATIC_POD_SETTLE_MS = 100;
export const MIRROR_RETRY_MS = 5_000;

/** What a container may say when it ends, and the end of its log that may stand in for it: as everywhere. */
export const MESSAGE_MAX_BYTES = 4_096;
export const POD_MESSAGES_MAX_BYTES = 12_288;
export const MESSAGE_LOG_MAX_BYTES = 2_048;
/** As much of the file as is read for that: container runtimes write 40 bytes before each line. */
export const MESSAGE_LOG_READ_BYTES = 8_192;
export const MESSAGE_LOG_LINES = 80;
/** Of a label of a DNS name; the kernel takes one more. */
export const HOST_NAME_MAX = 63;
/** A restarted kubelet that ends pods which no longer exist says so only when that takes longer. */
export const SETTLE_MS = 10_000;
/** Between attempts to register the node or to renew its lease when the API does not answer. */
export const NODE_RETRY_MS = 1_000;
/** Of the answer to an HTTP probe (Kubernetes'). */
export const PROBE_BODY_MAX_BYTES = 10 * 1024;
export const PROBE_REDIRECTS_MAX = 10;
/** Between looks at the machine's address: probes of pods on it go there, and to another machine after it has changed. */
export const NODE_ADDRESS_LOOK_MS = 5_000;
/** A status that loses against other writers of the node is written again at once, so often in one beat (Kubernetes: 5). */
export const NODE_STATUS_TRIES = 5;

/** Where the API servers expect a kubelet that does not say otherwise (Kubernetes'). */
export const KUBELET_PORT_DEFAULT = 10_250;

/** A rate of use is that of at least this long, and the points of one are kept for this long. */
export const CPU_RATE_WINDOW_MS = 10_000;
export const CPU_RATE_KEPT_MS = 120_000;
/** Between looks at what the node has left, and after a pod was ended for it. */
export const EVICTION_LOOK_MS = 10_000;
export const EVICTION_PAUSE_MS = 1_000;
/** "At once": literally nothing would mean the pod's own grace. */
export const IMMEDIATE_EVICTION_GRACE_SECONDS = 1;
/** The end of an evicted pod is waited for at least this long. */
export const KILL_WAIT_MIN_SECONDS = 10;

/** One environment variable, word of a command or path after expansion: the longest that Linux gives to a program. */
export const EXPANDED_MAX_BYTES = 128 * 1024;
/** All variables that a container names, and all words of its command: what Linux gives to a program in all, with room to spare. */
export const ENVIRONMENT_MAX_BYTES = 1024 * 1024;

/** Entries of one directory of logs that a node lists. */
export const NODE_LOG_ENTRIES_MAX = 1_000;

/** For the program that mounts or unmounts. */
export const MOUNT_MS = 10_000;

// Relations between limits. A change that breaks one fails every test of the room.
invariant(LEASE_RENEW_MS * 2 < LEASE_DURATION_SECONDS * 1_000, 'a lease outlives two renewals');
invariant(HEARTBEAT_LATE_MS < LEASE_DURATION_SECONDS * 1_000, 'a late heartbeat is noticed before the lease runs out');
invariant(
  PROMISE_RENEW_MS + PROMISE_ANSWER_MS + PROMISE_RETRY_MS < PROMISE_SECONDS * 1_000,
  'a promise is renewed although one answer is lost',
);
invariant(
  CONTAINER_BACK_OFF_INITIAL_MS <= CONTAINER_BACK_OFF_MAX_MS,
  'the back-off of containers begins with the shortest delay',
);
invariant(CONTAINER_BACK_OFF_MAX_MS < CONTAINER_BACK_OFF_RESET_MS, 'back-off is not forgotten while a container waits');
invariant(
  POD_RETRY_INITIAL_MS <= POD_RETRY_MAX_MS && ATTACH_RETRY_INITIAL_MS <= ATTACH_RETRY_MAX_MS,
  'retries begin with the shortest delay',
);
invariant(MESSAGE_MAX_BYTES <= POD_MESSAGES_MAX_BYTES, 'one message fits into those of its pod');
invariant(CPU_RATE_WINDOW_MS < CPU_RATE_KEPT_MS, 'a rate is kept for longer than it is measured');
