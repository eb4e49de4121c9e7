import { NODE_MONITOR_GRACE_SETTING } from '@holdfast/client/node-monitor-grace';
import { invariant } from '@holdfast/platform/invariant';

/** Pods that one pass of a ReplicaSet creates or deletes at most; the rest follows when the cache has seen these. */
export const REPLICASET_BURST_PODS = 500;

/** Pods that one pass of a StatefulSet with parallel management creates at most. */
export const STATEFUL_SET_BURST_PODS = 500;

/** First batch of a series of creates; each batch that succeeds doubles the next, so a refused template costs one call. */
export const SLOW_START_FIRST_BATCH = 1;

/** Concurrent writes of one pass. */
export const PARALLEL_WRITES = 16;

/** Requeue interval while the cache does not show our own writes, even without an event. */
export const CACHE_BARRIER_RECHECK_MS = 5_000;

/** A refused write is tried again after this time, if no change in the cache does so before: a webhook may refuse without one. */
export const REFUSED_WRITE_RECHECK_MS = 1_000;

/** The longest such time: it doubles with each refusal. */
export const REFUSED_WRITE_RECHECK_MAX_MS = 60_000;

/** A delete whose outcome never became visible stops holding back its workload after this time. */
export const DELETE_EXPECTATION_TTL_MS = 300_000;

/** Names that a workload does not ask for (of pods that are gone, of others), remembered per workload. */
export const AVOIDED_NAMES_PER_WORKLOAD = 256;

/** A create that was sent longer ago has been answered or lost. */
export const CREATE_IN_FLIGHT_MAX_MS = 60_000;

/**
 * Names of a sequence that are compared with those of pods, besides two per pod. A sequence that is used beyond this
 * restarts.
 */
export const NAMES_LOOKED_BACK = 256;

/** Concurrent keys of one controller. */
export const WORKERS_PER_CONTROLLER = 5;

/** Period of the pod garbage collector (GC-02). */
export const POD_GC_PERIOD_MS = 20_000;

/** How long a node must be missing before its pods are orphans (GC-03). */
export const POD_GC_NODE_QUARANTINE_MS = 40_000;

/** Finished pods that may stay before the oldest go (GC-02); 0 or less keeps all. */
export const TERMINATED_POD_THRESHOLD_DEFAULT = 12_500;

/** Pods the pod garbage collector ends in one look. */
export const POD_GC_BATCH_PODS = 500;

/** Period of the node health evaluation. */
export const NODE_MONITOR_PERIOD_MS = 5_000;

/**
 * Retry interval after another writer changed a node first: a taint that stays for a whole period keeps pods off a
 * ready node.
 */
export const NODE_WRITE_RETRY_MS = 100;

/** Retry interval of a node for which no network of pods was left; the end of another node wakes nobody. */
export const NODE_IPAM_RETRY_MS = 10_000;

/** Silence that a node is allowed before its first report. */
export const NODE_STARTUP_GRACE_MS = 60_000;

/** A judge that slept longer than this between two looks knows nothing about the nodes and starts all timers again. */
export const NODE_MONITOR_STALL_MS = 3 * NODE_MONITOR_PERIOD_MS;

/** Evaluation period for the leases of nodes with promises. */
export const PROMISE_LOOK_MS = 500;

/** A longer time without an evaluation of the promises counts for no wait. */
export const PROMISE_STALL_MS = 3_000;

/** After the lease of a node: for the kill of what it promised to end, and for pauses of who kills. */
export const PROMISE_MARGIN_MS = 2_000;

/** The largest accepted difference between the rates of two clocks, in per mille. */
export const CLOCK_RATE_PER_MILLE_DEFAULT = 10;

/**
 * A node with a promise sends a heartbeat every two seconds, another node every ten. Without any heartbeat for this
 * long, no node is evaluated.
 */
export const PROMISE_HEARD_MS = 5_000;
export const PROMISE_HEARD_OTHER_MS = 20_000;

/** Retry interval after a conflict with another writer of a node. */
export const PROMISE_RETRY_MS = 250;

/** In one zone one more node per this interval gets the NoExecute taint: 0.1 per second. */
export const NODE_EVICTION_INTERVAL_MS = 10_000;

/** The same in a large zone that is partially disrupted: 0.01 per second. */
export const NODE_EVICTION_INTERVAL_DISRUPTED_MS = 100_000;

/** Zones up to this size stop evicting altogether while partially disrupted. */
export const LARGE_ZONE_NODES = 50;

/** Share of silent nodes from which a zone counts as partially disrupted. */
export const UNHEALTHY_ZONE_SHARE = 0.55;

/** Owners that were proven absent, remembered so that thousands of dependents cost one GET. */
export const ABSENT_OWNERS_REMEMBERED = 500;

/** References to owners in other namespaces whose event is remembered, so that each has one. */
export const UNREACHABLE_OWNERS_REMEMBERED = 10_000;

/** Owners of one object that one pass requests from the API; the others follow after the absent ones are removed. */
export const OWNERS_ASKED_PER_PASS = 100;

/** Requeue interval of an object with an owner that only the API knows. */
export const UNSEEN_OWNER_RECHECK_MS = 10_000;

/** Requeue interval of a namespace with content. It doubles after each pass without progress. */
export const NAMESPACE_RECHECK_MS = 1_000;

/** Maximum requeue interval of a namespace without progress. */
export const NAMESPACE_RECHECK_MAX_MS = 30_000;

/** Objects read per page when a namespace is emptied. */
export const NAMESPACE_PAGE_OBJECTS = 500;

/** Pages of one list. Listing an aggregated API server with endless pages fails, and the failure is reported. */
export const NAMESPACE_PAGES_MAX = 2_000;

/** Concurrent objects in garbage collection; deletions are spread over them. */
export const OWNER_GC_WORKERS = 16;

/**
 * A failed pod is replaced no earlier than this after its creation (once immediately by ReplicaSets): a node that
 * rejects pods is not flooded.
 */
export const FAILED_POD_REST_MS = 10_000;

/** Old templates a set keeps when it names no number of its own: what Kubernetes keeps. */
export const REVISION_HISTORY_LIMIT_DEFAULT = 10;

/** The earlier revisions of a ReplicaSet, in one annotation: what Kubernetes keeps. */
export const REVISION_HISTORY_MAX_CHARS = 2_000;

/** An owner of at least this many pods is not reconciled for every changed pod. */
export const PACED_FROM_PODS = 20;

/** The pause between two passes grows with the owner's pods: one millisecond per so many. */
export const PACED_PODS_PER_MS = 10;

/** The pause is at least so many times as long as the look before it took. */
export const PACED_REST_PER_LOOK = 20;

/** The minimum pause: one status covers all changes of a burst. */
export const PACED_PASS_GAP_MIN_MS = 50;

/** The longest pause between two passes over an owner of many pods. */
export const PACED_PASS_GAP_MAX_MS = 1_000;

/** The pause after the first failed pod of a Job; it doubles with each further one. */
export const JOB_BACKOFF_BASE_MS = 10_000;

/** The longest pause after a failed pod of a Job: what Kubernetes 1.32 waits, though its documents say six minutes. */
export const JOB_BACKOFF_MAX_MS = 10 * 60_000;

/** Pods that one pass of a Job creates or deletes at most. */
export const JOB_PODS_PER_PASS = 500;

/** Uids of pods in a Job's status; more would make it a large object. */
export const UNCOUNTED_PODS_MAX = 500;

/** A quota is counted at most this often, however many objects go away. */
export const QUOTA_RECOUNT_INTERVAL_MS = 1_000;

/** Recount interval of every quota, as in Kubernetes. */
export const QUOTA_RESYNC_MS = 5 * 60_000;

/** Endpoints in one slice: what Kubernetes packs. */
export const ENDPOINTS_PER_SLICE_MAX = 100;

/** Addresses of one subset that are mirrored into slices, and that one such slice holds: what Kubernetes mirrors. */
export const MIRRORED_ENDPOINTS_PER_SUBSET_MAX = 1_000;

/** Addresses that an Endpoints object names at most; the rest is only in the slices. */
export const ENDPOINT_ADDRESSES_MAX = 1_000;

/** Missed starts of a CronJob from which on the user is warned. */
export const CRON_MISSED_STARTS_MAX = 100;

/** Times of a schedule that are followed one by one before the search for the latest halves what is left. */
export const CRON_STEPS_MAX = 16;

/** Number of cached parsed schedules. */
export const CRON_SCHEDULES_KEPT = 500;

/** Maximum requeue interval of a CronJob. */
export const CRON_RECHECK_MS = 10 * 60_000;

/** A pod whose eviction was allowed counts as gone for so long; when it is still there after that, it counts again. */
export const EVICTED_POD_GRACE_MS = 2 * 60_000;

/** A budget that may be raised waits for the cache of pods in steps of this. */
export const BUDGET_BARRIER_RECHECK_MS = 250;

/** A mark that a pod is about to be disrupted is taken off when nothing came of it for so long. */
export const STALE_DISRUPTION_TARGET_MS = 2 * 60_000;

/** Check interval of a node's cache advice for its kubelet. */
export const NODE_TTL_RECHECK_MS = 10 * 60_000;

/** A certificate request that was answered stays so long. */
export const CERTIFICATE_REQUEST_DONE_MS = 60 * 60_000;

/** Lifetime of an undecided certificate request. */
export const CERTIFICATE_REQUEST_PENDING_MS = 24 * 60 * 60_000;

/** Requeue interval of an attachment in use, even without an event. */
export const ATTACH_RECHECK_MS = 30_000;

/** First wait before a CSI driver is asked again after a failure. It doubles. */
export const DRIVER_RETRY_MS = 1_000;

/** The longest such wait: a driver that is down is noticed soon after it is back; one that refuses is left alone. */
export const DRIVER_RETRY_MAX_MS = 30_000;
export const DRIVER_REFUSED_RETRY_MAX_MS = 5 * 60_000;

/** Texts about one volume that are not told again: errors of drivers may have a number or a time in them. */
export const TOLD_PER_VOLUME_MAX = 500;

/** Places that one CreateVolume names at most. */
export const TOPOLOGY_SEGMENTS_MAX = 1_000;

/** Bytes of an error in the status of a VolumeAttachment; the API refuses more. */
export const ATTACH_ERROR_BYTES_MAX = 1_024;

/** Requeue interval of a claim without a volume, and repetition interval of its event. */
export const CLAIM_RECHECK_MS = 60_000;
/** A volume that waits for a driver without helpers here is told after this time: helpers may run elsewhere. */
export const LEFT_DRIVER_PATIENCE_MS = 60_000;

/** Retry interval of an autoscaler whose target changed between read and write. */
export const AUTOSCALER_CONFLICT_RETRY_MS = 1_000;

/** Default and maximum lifetime of Kubernetes' signers. */
export const CERTIFICATE_VALID_MS = 365 * 24 * 60 * 60_000;

/** The shortest life of a certificate. */
export const CERTIFICATE_VALID_MIN_MS = 10 * 60_000;

/** Certificates count from a little before now, for those whose clock is behind. */
export const CERTIFICATE_BACKDATE_MS = 5 * 60_000;

/** A certificate with a shorter life than this has its whole life before it. */
export const CERTIFICATE_SHORT_MS = 8 * 60 * 60_000;

/** Interval of the checks whether the sender of a request has the permission that approves it. */
export const CERTIFICATE_RIGHTS_RECHECK_MS = 60_000;

// Relations between limits. A change that breaks one fails every test of the room.
invariant(
  2 * NODE_MONITOR_PERIOD_MS <= NODE_MONITOR_GRACE_SETTING.min * 1_000,
  'a node is looked at twice before its readiness is unknown',
);
invariant(
  NODE_MONITOR_STALL_MS < NODE_MONITOR_GRACE_SETTING.min * 1_000,
  'a stall of the manager is seen before its nodes seem silent',
);
invariant(
  REFUSED_WRITE_RECHECK_MS <= REFUSED_WRITE_RECHECK_MAX_MS,
  'the back-off of refused writes begins with the shortest delay',
);
invariant(PROMISE_LOOK_MS < PROMISE_STALL_MS, 'a punctual check of the promises is not a stall');
invariant(PROMISE_HEARD_MS <= PROMISE_HEARD_OTHER_MS, 'other nodes are heard for longer than the one that is judged');
invariant(POD_GC_PERIOD_MS <= POD_GC_NODE_QUARANTINE_MS, 'a missing node is looked for before its pods are orphans');
invariant(NODE_EVICTION_INTERVAL_MS <= NODE_EVICTION_INTERVAL_DISRUPTED_MS, 'a disrupted zone is evicted more slowly');
invariant(
  NAMESPACE_RECHECK_MS <= NAMESPACE_RECHECK_MAX_MS,
  'the back-off of namespaces begins with the shortest delay',
);
invariant(
  DRIVER_RETRY_MS <= DRIVER_RETRY_MAX_MS && DRIVER_RETRY_MAX_MS <= DRIVER_REFUSED_RETRY_MAX_MS,
  'the back-off of CSI drivers begins with the shortest delay',
);
invariant(PACED_PASS_GAP_MIN_MS <= PACED_PASS_GAP_MAX_MS, 'the gap between passes has a range');
invariant(JOB_BACKOFF_BASE_MS <= JOB_BACKOFF_MAX_MS, 'the back-off of Jobs begins with the shortest delay');
invariant(
  CERTIFICATE_BACKDATE_MS < CERTIFICATE_VALID_MIN_MS && CERTIFICATE_VALID_MIN_MS < CERTIFICATE_VALID_MS,
  'a certificate is valid when it is issued',
);

/** What servers behind the API server serve is asked this often, and when a registration changes. */
export const AGGREGATED_KINDS_INTERVAL_MS = 30_000;

/** How long a deletion that orphans waits for servers whose cache is not filled. */
export const AGGREGATED_DEPENDENTS_MS = 5_000;

/** Kinds of such servers that are followed, and objects of each: their memory is in the hands of others. */
export const AGGREGATED_KINDS_MAX = 500;
export const AGGREGATED_BOUNDS = { objectsMax: 100_000, charsMax: 64_000_000 } as const;

invariant(
  AGGREGATED_DEPENDENTS_MS < AGGREGATED_KINDS_INTERVAL_MS,
  'a deletion does not outwait the kinds that it needs',
);
invariant(
  CERTIFICATE_BACKDATE_MS < CERTIFICATE_SHORT_MS && CERTIFICATE_RIGHTS_RECHECK_MS < CERTIFICATE_VALID_MIN_MS,
  'rights are checked again while the shortest certificate is valid',
);
