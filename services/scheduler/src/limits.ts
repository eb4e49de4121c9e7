import { invariant } from '@holdfast/platform/invariant';

/** The scheduler of pods that name none. */
export const DEFAULT_SCHEDULER_NAME = 'default-scheduler';

/** Groups of pods with cached counts by node for topology spread. */
export const MATCH_COUNTS_MAX = 1_024;

/** Cached node results for pods with equal needs: needs times nodes; at least this many needs. */
export const SHARED_RESULTS_MAX = 500_000;
export const SHARED_RESULTS_MIN = 16;

/** Cached distinct lists of rejection reasons. */
export const REJECTIONS_SHARED_MAX = 1_024;

/** Owners whose last pod is cached as a template for the next. */
export const POD_TEMPLATES_MAX = 1_024;

/** Back-off of a pod that could not be scheduled or bound. It doubles per attempt. */
export const POD_BACKOFF_BASE_MS = 1_000;
export const POD_BACKOFF_MAX_MS = 10_000;

/** An unschedulable pod is retried after this time even without an event. */
export const UNSCHEDULABLE_MAX_MS = 5 * 60_000;

/** An assumed pod without confirmation for this long is read from the API. */
export const ASSUMPTION_MAX_MS = 30_000;
export const ASSUMPTION_CHECK_INTERVAL_MS = 5_000;

/** kube-scheduler's lease. */
export const LEASE_NAMESPACE = 'kube-system';
export const LEASE_NAME = 'kube-scheduler';
export const LEASE_DURATION = '15s';
export const LEASE_RENEW_DEADLINE = '10s';
export const LEASE_RETRY_PERIOD = '2s';

/** Maximum concurrent bindings and status writes. */
export const BINDINGS_IN_FLIGHT_MAX = 128;
export const STATUS_WRITES_IN_FLIGHT_MAX = 32;

/** Decisions before the event loop gets a turn. */
export const DECISIONS_PER_TURN = 32;

/** Clusters up to this size are searched completely; larger ones until enough feasible nodes are found. */
export const SEARCH_ALL_NODES_MAX = 100;
export const SEARCH_FEASIBLE_MIN = 100;
export const SEARCH_PERCENT_MIN = 5;

/** Nodes that preemption tries: at least this many, or this percentage of the cluster. */
export const PREEMPTION_CANDIDATES_MIN = 100;
export const PREEMPTION_CANDIDATES_PERCENT = 10;

/** One of this many decisions may measure its plugins; one of this many queueing hints and events is measured. */
export const TIMED_EVERY = 10;
/** Minimum interval between decisions that measure plugins: reading a clock costs more than many calls. */
export const PLUGINS_TIMED_INTERVAL_MS = 10;
/** Nodes for which a plugin's calls are measured in such a decision. */
export const NODE_CALLS_TIMED_MAX = 2;

/** Highest score of a plugin for a node. */
export const NODE_SCORE_MAX = 100;

/** Cache time of the API's verdict about status access, and the number of cached callers. */
export const STATUS_ACCESS_KEPT_MS = 10_000;
export const STATUS_ACCESS_KEPT_MAX = 1_000;

/** Pods whose last refusal is kept; nodes that it names, groups of equal reasons for the others, and its texts. */
export const REFUSALS_KEPT_MAX = 1_000;
export const REFUSED_NODES_NAMED_MAX = 50;
export const REFUSED_GROUPS_MAX = 20;
export const REFUSED_REASONS_MAX = 8;
export const REFUSED_REASON_LENGTH_MAX = 300;
export const REFUSED_MESSAGE_LENGTH_MAX = 4_096;

/** A placement whose volumes are not bound after this time fails. */
export const VOLUME_BIND_TIMEOUT_SECONDS = 600;
export const VOLUME_BIND_CHECK_INTERVAL_MS = 1_000;
/** Maximum wait of a Permit plugin. */
export const PERMIT_WAIT_MAX_MS = 15 * 60_000;
/** Time-out of an extender. */
export const EXTENDER_TIMEOUT_MS = 5_000;
export const EXTENDER_ANSWER_MAX_BYTES = 64 * 1024 * 1024;

/** The API's limit for an event's message. */
export const EVENT_MESSAGE_BYTES_MAX = 1_024;

// Relations between limits. A violation fails every test of this service.
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
invariant(SEARCH_FEASIBLE_MIN <= SEARCH_ALL_NODES_MAX, 'a small cluster has enough nodes for a search');
invariant(
  VOLUME_BIND_CHECK_INTERVAL_MS < VOLUME_BIND_TIMEOUT_SECONDS * 1_000,
  'a binding of volumes is checked in time',
);
invariant(POD_BACKOFF_MAX_MS < UNSCHEDULABLE_MAX_MS, 'a pod backs off for less than it may stay unschedulable');
