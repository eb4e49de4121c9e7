import { invariant } from '@holdfast/platform/invariant';
import { PROMISE_ANSWER_MS, PROMISE_RENEW_MS, PROMISE_RETRY_MS, PROMISE_SECONDS } from './self-fencing/limits.ts';

/** Every number that bounds the kubelet's work. Units are in the names. */

/** Kubernetes' default for `nodeLeaseDurationSeconds`; the control plane calls a node unknown after it. */
export const LEASE_DURATION_SECONDS = 40;
/** A quarter of the lease: three renewals may be lost. */
export const LEASE_RENEW_MS = 10_000;
/** A node whose heartbeats fail for this long reports that it is unhealthy. */
export const HEARTBEAT_LATE_MS = 2 * LEASE_RENEW_MS;
/** A node status that did not change is written this often; one that changed, with the next lease. */
export const NODE_STATUS_REPORT_MS = 300_000;
/** Kubernetes' default for `maxPods`. */
export const MAX_PODS_PER_NODE = 110;

export const CONTAINER_BACK_OFF_INITIAL_MS = 10_000;
export const CONTAINER_BACK_OFF_MAX_MS = 300_000;
/** A container that ran this long before it exited restarts its back-off. */
export const CONTAINER_BACK_OFF_RESET_MS = 600_000;

/** No process gets less time between the stop signal and the kill. */
export const MIN_CONTAINER_GRACE_SECONDS = 2;
export const MIN_POD_GRACE_SECONDS = 1;
/** Grace period of processes whose pod object is gone: the requested period is unknown. */
export const ORPHAN_GRACE_SECONDS = 2;

/** First wait after a failed pass over a pod, doubled up to the second number. */
export const POD_RETRY_INITIAL_MS = 500;
export const POD_RETRY_MAX_MS = 30_000;
/** A lost notification of the runtime delays a pod by at most this. */
export const RUNTIME_RELIST_MS = 30_000;
/** Retry interval after a container could not be created. */
export const START_RETRY_MS = 10_000;
/** The first event about a pull that takes long; each later one waits twice as long as the one before, up to the maximum. */
export const PULL_PROGRESS_FIRST_MS = 15_000;
export const PULL_PROGRESS_MAX_MS = 120_000;
/** How long a status shows the reason of a failed pull before it shows the back-off. */
export const IMAGE_ERROR_SHOWN_MS = 1_000;
/** Limit for a node's status, as in Kubernetes. */
export const NODE_IMAGES_MAX = 50;
export const NODE_IMAGE_NAMES_MAX = 5;
/** Interval of the runtime's health checks. */
export const RUNTIME_HEALTH_MS = 5_000;
/**
 * First interval between checks whether a volume is attached; it doubles up to the second number, without a deadline.
 */
export const ATTACH_RETRY_INITIAL_MS = 100;
export const ATTACH_RETRY_MAX_MS = 2_000;
/** Number of silent checks before each event about the pod: about half a minute. */
export const ATTACH_WAITS_UNTOLD = 16;
/**
 * First retry interval for a pod's volumes; it doubles up to `START_RETRY_MS`. Their dependencies often follow shortly.
 */
export const VOLUME_RETRY_INITIAL_MS = 250;
/** Per pod: the variables of containers that start again while the API is away. 110 pods keep 28 million characters at most. */
export const REMEMBERED_TEXTS_CHARS_MAX = 256 * 1024;
/** Containers that start together do not read the volumes of their pod again. */
export const VOLUME_FRESH_MS = 1_000;
/** Interval at which a node asks again whether a pod still uses a volume that is being deleted. */
export const VOLUME_IN_USE_RECHECK_MS = 2_000;
/** Refresh interval of files from ConfigMaps and Secrets in a running pod. */
export const VOLUME_REFRESH_MS = 60_000;
/** A token is replaced after this part of its life. */
export const TOKEN_RENEW_SHARE = 0.8;
/** Retry interval for stopping a container whose end is unconfirmed. */
export const STOP_RETRY_MS = 5_000;
/** One-off addition for a preStop hook that still runs when the grace ends. */
export const PRE_STOP_EXTENSION_MS = 2_000;
/** Deadline of the node's own work before a container ends. */
export const INTERNAL_HOOK_MS = 30_000;
/** Attempts of a probe whose check could not be executed, as in Kubernetes. */
export const PROBE_ATTEMPTS_MAX = 3;
/** How long a hook waits for a connection: unlike an answer, one that comes later is none. */
export const HOOK_CONNECT_MS = 60_000;
/**
 * Deadline of hooks that have none in Kubernetes: as good as none, and below 2^31 ms, with room for what runtimes add to it.
 */
export const ENDLESS_HOOK_MS = 24 * 86_400_000;
/** Block size for reading logs, and the poll interval when following them. */
export const LOG_BLOCK_BYTES = 64 * 1024;
export const LOG_FOLLOW_POLL_MS = 100;
/** Cache time of access verdicts of this node, and their number. */
export const ACCESS_KEPT_MS = 30_000;
export const ACCESS_KEPT_MAX = 1_000;
/** A request to this node is a few lines. */
export const NODE_REQUEST_RECEIVE_MS = 30_000;
/** A health answer is a few bytes; a peer that sends more is no health service. */
export const GRPC_ANSWER_MAX_BYTES = 4 * 1024;
export const POD_LIST_PAGE = 500;
/** Poll interval for files of static pods without file system events, as in Kubernetes. */
export const STATIC_POD_POLL_MS = 20_000;
/** A file that is being written is read once its writer paused. */
export const STATIC_POD_SETTLE_MS = 100;
export const MIRROR_RETRY_MS = 5_000;

/** Limit of a termination message, and of the log's end that may replace it: as in Kubernetes. */
export const MESSAGE_MAX_BYTES = 4_096;
export const POD_MESSAGES_MAX_BYTES = 12_288;
export const MESSAGE_LOG_MAX_BYTES = 2_048;
/** Bytes of the log to read for that: container runtimes write 40 bytes before each line. */
export const MESSAGE_LOG_READ_BYTES = 8_192;
export const MESSAGE_LOG_LINES = 80;
/** Limit of a DNS label; the kernel allows one more. */
export const HOST_NAME_MAX = 63;
/** A restarted kubelet that ends deleted pods reports that only when it takes longer than this. */
export const SETTLE_MS = 10_000;
/** Retry interval for registering the node or renewing its lease. */
export const NODE_RETRY_MS = 1_000;
/** Limit of an HTTP probe's response (Kubernetes'). */
export const PROBE_BODY_MAX_BYTES = 10 * 1024;
export const PROBE_REDIRECTS_MAX = 10;
/**
 * Poll interval of the machine's address: probes of host-network pods use it, and would reach another machine after a
 * change.
 */
export const NODE_ADDRESS_LOOK_MS = 5_000;
/** Immediate retries per heartbeat of a status that conflicts with other writers (Kubernetes: 5). */
export const NODE_STATUS_TRIES = 5;

/** Default port of a kubelet for API servers (Kubernetes'). */
export const KUBELET_PORT_DEFAULT = 10_250;

/** A rate of use is that of at least this long, and the points of one are kept for this long. */
export const CPU_RATE_WINDOW_MS = 10_000;
export const CPU_RATE_KEPT_MS = 120_000;
/** Interval of resource measurements, and the pause after an eviction. */
export const EVICTION_LOOK_MS = 10_000;
export const EVICTION_PAUSE_MS = 1_000;
/** "At once": literally nothing would mean the pod's own grace. */
export const IMMEDIATE_EVICTION_GRACE_SECONDS = 1;
/** The end of an evicted pod is waited for at least this long. */
export const KILL_WAIT_MIN_SECONDS = 10;

/** One environment variable, argument or path after expansion: Linux's limit for a program. */
export const EXPANDED_MAX_BYTES = 128 * 1024;
/** All variables that a container names, and all words of its command: what Linux gives to a program in all, with room to spare. */
export const ENVIRONMENT_MAX_BYTES = 1024 * 1024;

/** Entries of one directory of logs that a node lists. */
export const NODE_LOG_ENTRIES_MAX = 1_000;

/** A registration socket is used once its plugin paused; without file system events the directory is polled. */
export const PLUGIN_SETTLE_MS = 100;
export const PLUGIN_POLL_MS = 60_000;
/** First wait after a failed registration of a plugin, doubled up to the second number. */
export const CSI_RETRY_INITIAL_MS = 500;
export const CSI_RETRY_MAX_MS = 30_000;
/** Interval at which CSI volumes of pods that are gone are looked for; again after this when one is left. */
export const CSI_SWEEP_MS = 60_000;

/** Folders below each other in a volume that gets the group of a pod: each holds a descriptor open. */
export const VOLUME_DEPTH_MAX = 250;

/** The usage of volumes is asked of their drivers this often at most, as in Kubernetes. */
export const VOLUME_STATS_MS = 60_000;
/** A node that shuts down waits so long for its volumes to be unmounted; the next start unmounts the rest. */
export const UNMOUNT_ALL_MS = 5_000;
/** Interval of the tries meanwhile: drivers have to register once more. */
export const UNMOUNT_RETRY_MS = 100;

/** Deadline of the program that mounts an NFS share: a server may be at the other end of a slow network. */
export const NFS_MOUNT_MS = 60_000;
/** Deadline of a question to an NFS server, before the kubelet itself looks at its share. */
export const LOOK_MS = 5_000;
/** Limit of what such a program says. */
export const PROGRAM_MESSAGE_MAX_LENGTH = 1_000;

/** Deadline of what the kubelet does in a volume whose server may be silent. */
export const VOLUME_WORK_MS = 10_000;
/** The same of `fsGroup`, which changes every file of a volume. */
export const VOLUME_GROUP_MS = 600_000;
/** Processes that work in such volumes, or hang there. Each has about 50 MB. */
export const VOLUME_WORKERS_MAX = 16;
/** One that has nothing to do ends after this time. */
export const VOLUME_WORKER_LINGER_MS = 5_000;

/** Deadline of the program that mounts or unmounts. */
export const MOUNT_MS = 10_000;
/** Wait before the networks of nodes are read again for the configuration of the network of containers. */
export const CNI_NETWORK_RETRY_MS = 500;

// Relations between limits. A change that breaks one fails every test of the room.
invariant(LEASE_RENEW_MS * 2 < LEASE_DURATION_SECONDS * 1_000, 'a lease outlives two renewals');
invariant(HEARTBEAT_LATE_MS < LEASE_DURATION_SECONDS * 1_000, 'a late heartbeat is noticed before the lease runs out');
invariant(
  PROMISE_RENEW_MS + PROMISE_ANSWER_MS + PROMISE_RETRY_MS < PROMISE_SECONDS * 1_000,
  'a promise is renewed although one answer is lost',
);
invariant(CSI_RETRY_INITIAL_MS <= CSI_RETRY_MAX_MS, 'retries of plugins begin with the shortest delay');
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
invariant(KILL_WAIT_MIN_SECONDS >= IMMEDIATE_EVICTION_GRACE_SECONDS, 'an immediate eviction is waited for');
invariant(EVICTION_PAUSE_MS <= EVICTION_LOOK_MS, 'an eviction is followed by an early look');
invariant(NODE_RETRY_MS < LEASE_RENEW_MS, 'a failed heartbeat is repeated before the next one is due');
