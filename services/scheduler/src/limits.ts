import { invariant } from '@holdfast/platform/invariant';

/** Pods that name no scheduler are this one's. */
export const DEFAULT_SCHEDULER_NAME = 'default-scheduler';

/** Groups of pods whose counts by node are kept for topology spread. */
export const MATCH_COUNTS_MAX = 1_024;

/** Answers about nodes that are kept for further pods with equal needs: needs times nodes; at least so many needs. */
export const SHARED_RESULTS_MAX = 500_000;
export const SHARED_RESULTS_MIN = 16;

/** Different lists of what nodes lack that are kept to be said again. */
export const REJECTIONS_SHARED_MAX = 1_024;

/** Owners whose last pod is kept as a template for the next. */
export const POD_TEMPLATES_MAX = 1_024;

/** Wait of a pod that could not be scheduled or bound before it is tried again: doubles per attempt. */
export const POD_BACKOFF_BASE_MS = 1_000;
export const POD_BACKOFF_MAX_MS = 10_000;

/** A pod that waits for a change is tried again after this long even if no change was seen. */
export const UNSCHEDULABLE_MAX_MS = 5 * 60_000;

/** An assumed pod that was bound but not seen bound for this long is read from the API. */
export const ASSUMPTION_MAX_MS = 30_000;
export const ASSUMPTION_CHECK_INTERVAL_MS = 5_000;

/** The election of kube-scheduler. */
export const LEASE_NAMESPACE = 'kube-system';
export const LEASE_NAME = 'kube-scheduler';
export const LEASE_DURATION = '15s';
export const LEASE_RENEW_DEADLINE = '10s';
export const LEASE_RETRY_PERIOD = '2s';

/** Bindings and status writes under way at once. */
export const BINDINGS_IN_FLIGHT_MAX = 128;
export const STATUS_WRITES_IN_FLIGHT_MAX = 32;

/** Decisions before the event loop gets a turn. */
export const DECISIONS_PER_TURN = 32;

/** Clusters up to this size are searched whole; larger ones until enough feasible nodes are found. */
export const SEARCH_ALL_NODES_MAX = 100;
export const SEARCH_FEASIBLE_MIN = 100;
export const SEARCH_PERCENT_MIN = 5;

/** Nodes that preemption tries: at least this many, or this share of the cluster. */
export const PREEMPTION_CANDIDATES_MIN = 100;
export const PREEMPTION_CANDIDATES_PERCENT = 10;

/** Of so many decisions one may measure its plugins; of so many questions to queueing hints and changes taken in, one is measured. */
export const TIMED_EVERY = 10;
/** Where decisions follow each other fast, plugins are measured once in so long: reading a clock costs more than many a call. */
export const PLUGINS_TIMED_INTERVAL_MS = 10;
/** Nodes for which the calls of a plugin are measured in such a decision. */
export const NODE_CALLS_TIMED_MAX = 2;

/** Highest score a plugin gives a node. */
export const NODE_SCORE_MAX = 100;

/** What the API said about who may read the status is believed for this long, for so many callers. */
export const STATUS_ACCESS_KEPT_MS = 10_000;
export const STATUS_ACCESS_KEPT_MAX = 1_000;

/** A placement whose volumes are not bound after this long is given up. */
export const VOLUME_BIND_TIMEOUT_SECONDS = 600;
export const VOLUME_BIND_CHECK_INTERVAL_MS = 1_000;
/** Longest that a Permit plugin may keep a placement waiting. */
export const PERMIT_WAIT_MAX_MS = 15 * 60_000;
/** An extender that does not answer within this long has failed. */
export const EXTENDER_TIMEOUT_MS = 5_000;
export const EXTENDER_ANSWER_MAX_BYTES = 64 * 1024 * 1024;

/** Of an event's message, as the API takes them. */
export const EVENT_MESSAGE_BYTES_MAX = 1_024;

// Relations between limits. A change that breaks one fails every test of the room.
invariant(
  POD_BACKOFF_BASE_MS <= POD_BACKOFF_MAX_MS && POD_BACKOFF_MAX_MS < UNSCHEDULABLE_MAX_MS,
  'back-off ends before a pod is tried without an event',
);
invariant(ASSUMPTION_CHECK_INTERVAL_MS < ASSUMPTION_MAX_MS, 'an assumption is checked before it is too old');
invariant(SHARED_RESULTS_MIN <= SHARED_RESULTS_MAX, 'the shared results have a range');
invariant(
  VOLUME_BIND_CHECK_INTERVAL_MS < VOLUME_BIND_TIMEOUT_SECONDS * 1_000,
  'volumes are looked at before their binding times out',
);
