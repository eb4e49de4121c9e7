/** Every bound of the apiserver, with its unit and the reason for its value. */

import { heapLimitBytes } from '@holdfast/platform/heap-limit';
import { invariant } from '@holdfast/platform/invariant';

const MIB = 1024 * 1024;

/** Kubernetes refuses larger request bodies; the store refuses larger objects (see `OBJECT_BYTES_MAX`). */
export const REQUEST_BODY_BYTES_MAX = 3 * 1024 * 1024;

/** Largest stored object: what etcd accepts in one request by default. */
export const OBJECT_BYTES_MAX = 1.5 * 1024 * 1024;

/** Deepest nesting of a request body: real objects stay below 40; deeper ones only cost stack. */
export const BODY_DEPTH_MAX = 200;

/** Events each resource keeps for watches that resume and for continued lists. */
export const EVENTS_KEPT_PER_RESOURCE = 4_096;

/** Bytes of those events: objects may be large, and thousands of large ones would fill the memory. Less in a small heap, as every resource may have so many. */
export const EVENT_BYTES_KEPT_PER_RESOURCE = Math.min(16 * MIB, Math.max(2 * MIB, heapLimitBytes() / 256));

/** Bytes of changes that a watcher may lag. Watchers share them, so this is about memory in all and not for each. */
export const WATCHER_QUEUE_BYTES_MAX = Math.min(32 * MIB, Math.max(4 * MIB, heapLimitBytes() / 128));

/** Frames behind its initial state that a watcher may lag before it is cut off; it then resumes from its last revision. */
export const WATCHER_QUEUE_FRAMES_MAX = 16_384;

/** Tables and partial objects of changes that are kept for other watchers. Each may be as large as its object. */
export const SHARED_FRAMES_MAX = 32;

/** States of its own writes that a server keeps until the change feed brings them; a feed that is cut must not fill the memory. */
export const CACHE_AHEAD_OBJECTS_MAX = 4_096;

/** How long the pages of a list show the state of its first page: as in Kubernetes with its default compaction. */
export const LIST_PAGES_MS = 5 * 60_000;

/** Watches at one time, all resources together. */
export const WATCHERS_MAX = 100_000;

/** Of these, so many are for kubelets, the control plane and administrators: four for each of 5,000 nodes, and the next line. */
export const WATCHERS_RESERVED = 25_000;

/** And of these, so many are not for kubelets: one for each kind of the garbage collector of a large cluster, and some more. */
export const WATCHERS_RESERVED_FOR_CONTROL = 5_000;

/** Watches of one user, or of the service accounts of a namespace: ten for each of 1,000 nodes. */
export const WATCHERS_OF_USER_MAX = 10_000;

/** The same for an identity that programs of every node have: ten for each of 5,000 nodes. */
export const WATCHERS_OF_EVERY_NODE_MAX = 50_000;

/** Objects read from the store in one page while the cache loads. */
export const CACHE_LOAD_PAGE_OBJECTS = 2_000;

/** A consistent read gives up when the cache has not caught up by then. */
export const CONSISTENT_READ_TIMEOUT_MS = 3_000;

/** Bookmarks tell idle watchers that they missed nothing: about once a minute, as Kubernetes does. */
export const BOOKMARK_INTERVAL_MS = 60_000;

/** A watch without `timeoutSeconds` ends after this, plus up to as much again (spreads reconnects). */
export const WATCH_TIMEOUT_MIN_MS = 30 * 60_000;

/** The maximum `timeout` of a request that is no stream, and what it has without one, as in Kubernetes. */
export const REQUEST_TIMEOUT_MAX_MS = 60_000;
/** The maximum effective `timeoutSeconds`; Node fires timers of 25 days immediately. */
export const WATCH_TIMEOUT_MAX_MS = 24 * 24 * 60 * 60_000;

/** Pause before the change feed is opened again after it broke. */
export const FEED_RETRY_MS = 250;

/** The feed was silent-broken for this long: watches end and readiness turns false. */
export const FEED_BROKEN_ENDS_WATCHES_MS = 30_000;

/** Compare-and-swap attempts of a write that carries no precondition of its own. */
export const WRITE_ATTEMPTS_MAX = 16;

/** A budget that remembers more disrupted pods than this is not being looked after by its controller. */
export const DISRUPTED_PODS_MAX = 2_000;

/** When to ask again for an eviction that a budget could not judge. */
export const EVICTION_RETRY_SECONDS = 10;

/** The same for the count of a quota: many servers may write in one namespace, and each of them may be faster. */
export const QUOTA_ATTEMPTS_MAX = 64;

/** Another server may have stored a quota so long ago without this server knowing it. In Kubernetes it is 30 s. */
export const QUOTA_UNKNOWN_MS = 1_000;

/** Attempts for a name from `metadata.generateName` before the client must retry. */
export const GENERATE_NAME_ATTEMPTS_MAX = 8;

/** Random characters behind `metadata.generateName`. */
export const GENERATED_SUFFIX_CHARS = 5;

/** `metadata.generateName` is cut so that the whole name fits a DNS label. */
export const GENERATED_BASE_CHARS_MAX = 63 - GENERATED_SUFFIX_CHARS;

/** Name of a field manager: it is repeated in every object that the manager writes. */
export const FIELD_MANAGER_BYTES_MAX = 128;

/** Default toleration in seconds of a node that is not ready or unreachable. */
export const DEFAULT_TOLERATION_SECONDS = 300;

/**
 * Tokens of a YAML body: about 40,000 keys, half a second of work that blocks other requests. JSON has no such limit:
 * it is parsed a hundred times faster.
 */
export const YAML_TOKENS_MAX = 250_000;

/** A YAML body that is longer is read on a thread of its own: so many bytes take about 6 ms. */
export const LONG_YAML_BYTES = 64 * 1024;

/** The time limit of that thread for one body; the largest accepted one takes half a second and 150 MB. */
export const YAML_READ_MS = 20_000;
export const YAML_THREAD_HEAP_MB = 256;

/** The thread ends when no long YAML body came for this long. */
export const YAML_THREAD_IDLE_MS = 30_000;

/** Text of parsed label selectors that are kept: four of the longest, which take about 10 MB when parsed. */
export const KNOWN_SELECTORS_CHARS_MAX = 256 * 1024;

/** References in a YAML body to other places of it, and values of it when they are all replaced. */
export const YAML_ALIASES_MAX = 1_000;
export const YAML_NODES_MAX = 100_000;

/** Characters of an integer in a YAML body. The largest double has 309 digits; a million of them take most of a second. */
export const YAML_INTEGER_CHARS_MAX = 1_024;

/** Objects removed by one deletecollection step at the same time. */
export const DELETE_COLLECTION_PARALLEL = 16;

/** Time a client may take to send its request, headers and body. */
export const REQUEST_RECEIVE_TIMEOUT_MS = 60_000;

/** Time a client may take for its TLS handshake. */
export const TLS_HANDSHAKE_TIMEOUT_MS = 10_000;

/** A connection without an open request is closed after this: what kube-apiserver does. */
export const CONNECTION_IDLE_MS = 90_000;

/** Connections at one time: below the usual limits on open files, so that files of the store can still be opened. */
export const CONNECTIONS_MAX = 16_384;

/** Bytes of request bodies in memory; beyond it the largest incomplete one is rejected for a retry. */
export const BODY_BYTES_IN_FLIGHT_MAX = 256 * 1024 * 1024;

/**
 * Bytes of long answers (lists, logs, watches, exec, proxied ones) on their way to their clients, all together. It is divided among the
 * answers that are open, so that those that nobody reads hold up nobody.
 */
export const ANSWER_BYTES_IN_FLIGHT_MAX = 32 * 1024 * 1024;

/** A watch or a long answer whose client takes nothing for this long is cut off. */
export const WATCH_WRITE_STALL_MS = 30_000;

/** Headers of a request over HTTP/1.1, its first line included: as much as HTTP/2 takes. Label selectors of programs grow past the 16 KB of Node. */
export const HTTP1_HEADERS_MAX_BYTES = 64 * 1024;

/** Headers of a request. Each group that a client acts in is a header, and people may be in hundreds. */
export const HEADERS_MAX = 1_000;

/** Entries of `Accept` and `Accept-Encoding` that are read, and parameters of one: browsers send ten with two each, and a header has room for 30,000. */
export const ACCEPT_CLAUSES_MAX = 100;
export const ACCEPT_PARAMETERS_MAX = 16;

/** Requests per HTTP/2 connection at one time: what kube-apiserver allows. */
export const HTTP2_STREAMS_MAX = 250;

/** And those that a client sends over HTTP/1.1 without waiting for answers; hardly any sends two. */
export const HTTP1_UNANSWERED_MAX = 250;

/** Concurrent writes; more are rejected for a retry, so that a slow store is not overloaded. */
export const WRITES_IN_FLIGHT_MAX = 1_024;

/** Of these, this many are reserved for system components; one user has at most half of the others. */
export const WRITES_RESERVED = 128;

/** The rules of one custom resource may take so long. Costs bound them as well, but some steps of a cost take longer than others. */
export const RULES_DEADLINE_MS = 500;

/**
 * The same for the validations of one policy with all parameters of one binding, and for the conditions of one policy or webhook. It is longer:
 * a policy may concern every request, and a process that is paused for a moment must not refuse them.
 */
export const POLICY_DEADLINE_MS = 2_000;

/** Work on requests per turn of the event loop; later requests wait for another turn. */
export const TURN_MS = 10;

/** Short answers that the thread of HTTP has not written. While so many are, no further request begins. */
export const ANSWERS_UNDER_WAY_MAX = 16;

/** A client that is refused because it sends too much learns it after this, unless so many refusals wait already. */
export const REFUSAL_PAUSE_MS = 250;
export const REFUSALS_PAUSED_MAX = 2_000;

/** Waiting requests of one flow; more are rejected for a retry. Exempt flows have bursts. */
export const WAITING_PER_FLOW_MAX = 512;
export const WAITING_PER_EXEMPT_FLOW_MAX = 16_384;

/** Requests that are executed at one time, those of exempt levels left out: 400 reads and 200 writes of kube-apiserver. */
export const SERVER_SEATS = 600;

/** A request waits for its seats this long at most: a quarter of the time that kube-apiserver gives a request. */
export const QUEUE_WAIT_MS = 15_000;

/** Interval at which unused seats are lent to other levels. */
export const SEATS_REBALANCED_MS = 10_000;

/** Queues of one priority level that are really kept; a configuration may name ten million. */
export const QUEUES_PER_LEVEL_MAX = 1_024;

/** Pairs of a schema and a level that metrics tell of. */
export const FLOW_SERIES_MAX = 1_000;

/** Flows of one schema whose queues are remembered; others are worked out again. */
export const FLOWS_REMEMBERED_MAX = 1_024;

/** Maintenance interval of flow control's default objects: a deleted one is back within a minute. */
export const FLOW_OBJECTS_KEPT_MS = 55_000;

/** Writes of one FlowSchema's status in a minute: servers of different opinions must not fight. */
export const FLOW_STATUS_WRITES_A_MINUTE = 6;

/** A request with a longer body is large: it may need a hundred times as much memory while it is served. */
export const LARGE_BODY_BYTES = 128 * 1024;

/** Requests that paused to let others in. While so many are, no large request begins. */
export const PAUSED_WORK_MAX = 4;

/** Events inform people about what has just happened; they are removed after this. */
export const EVENT_KEEP_MS = 60 * 60_000;

/** Interval of the sweep for old events. */
export const EVENT_SWEEP_INTERVAL_MS = 60_000;

/** Events whose text is read before others get a turn. */
export const EVENTS_READ_AT_ONCE = 200;

/** Events removed in one write. */
export const EVENT_SWEEP_BATCH = 100;

/** A store that is just coming up gets this many chances to take the system objects, this far apart. */
export const SYSTEM_OBJECT_ATTEMPTS_MAX = 60;
export const SYSTEM_OBJECT_RETRY_MS = 500;
/** A starting server waits this long for its store; then the start fails, and its supervisor reports that. */
export const STORE_PATIENCE_MS = 5 * 60_000;
export const STORE_PATIENCE_RETRY_MS = 500;
/** Deadline of a kubelet, or of a proxy target, for the start of its response. */
export const KUBELET_ANSWER_MS = 30_000;

/** A node that does not say what it uses in this time is left out of the answer. */
export const NODE_USAGE_MS = 5_000;

/** The same for all nodes of one list together: in a large partition the measured ones have to be answered in time. */
export const NODE_USAGE_LIST_MS = 20_000;

/** The same for one that says too much: a thousand containers take 0.5 MB, and a stolen node must not fill the memory. */
export const NODE_USAGE_BYTES_MAX = 4 * MIB;

/** Nodes that are asked for it at a time; the others wait for their turn. */
export const NODE_USAGE_PARALLEL = 64;

/** A watch of Secrets of accounts that ended is opened again after this, and a missing certificate is looked for again. */
export const ACCOUNT_TOKEN_RETRY_MS = 1_000;

/** Attempts to find the certificate of a new namespace; a cluster without controllers never has one. */
export const ACCOUNT_TOKEN_CA_WAITS = 10;

/** An exec, attach or port-forward session on which nothing moves for this long is closed: what a kubelet allows. */
export const UPGRADED_IDLE_MS = 4 * 60 * 60 * 1000;

/** Young garbage of the thread that speaks HTTP, in MB: at most, and each half at the start. */
export const FRONT_THREAD_YOUNG_MB = 16;
export const FRONT_THREAD_SEMI_SPACE_MB = 4;

/** Deadline of that thread to load, to listen and to stop. */
export const FRONT_START_MS = 30_000;
export const FRONT_STOP_MS = 10_000;

/** A client that is refused during its request may continue to send for this long, so that it reads the response. */
export const REFUSAL_LINGER_MS = 500;

/** A longer document gets no line breaks: nobody reads it, and formatting blocks the thread. */
export const INDENTED_BYTES_MAX = 4 * 1024 * 1024;

/** Cache time of an OpenAPI document that was requested by hash. */
export const KEPT_DOCUMENT_MS = 365 * 24 * 60 * 60_000;

/** Longer answers are compressed for clients that take it, as kube-apiserver does: shorter ones are not worth the work. */
export const COMPRESSED_OVER_BYTES = 128 * 1024;

/** Lifetime of pod tokens, as in Kubernetes: the odd seconds distinguish it from other requests. */
export const POD_TOKEN_SECONDS = 3_607;
/** Programs that read their token only once work for a year; others read the new token from the kubelet. */
export const EXTENDED_POD_TOKEN_SECONDS = 365 * 24 * 3_600;

/** Steps of one comparison of a role's rules with those of its author: about 150 ms. Honest roles need some thousands. */
export const RIGHTS_COMPARISON_STEPS_MAX = 2_000_000;

/** Reported combinations of verb, group, resource and name in a refusal. */
export const MISSING_RIGHTS_TOLD = 1_000;
export const MISSING_RIGHTS_BYTES_TOLD = 32 * 1024;

/** Rules in one SelfSubjectRulesReview; beyond them it is marked incomplete. */
export const RULES_REVIEWED_MAX = 10_000;
export const RULES_REVIEWED_BYTES_MAX = 4 * 1024 * 1024;

/** Roles that do not exist, though bindings name them, in one refusal. */
export const MISSING_ROLES_TOLD = 20;

/** Retry interval after a failed pass over a definition. */
export const DEFINITION_RETRY_MS = 1_000;
/** First recheck interval for remaining instances of a terminating definition. */
export const CLEANUP_LOOK_FIRST_MS = 50;
export const CLEANUP_LOOK_LONGEST_MS = 5_000;
export const INSTANCES_DELETED_AT_ONCE = 32;
/** Different reasons why instances could not be deleted, in the condition of their definition. */
export const DELETION_FAULTS_TOLD_MAX = 4;

/** The timeout of a webhook that sets none, as in 1.32. */
export const WEBHOOK_TIMEOUT_SECONDS_DEFAULT = 10;
/** The answer of a webhook: a patch may be as large as an object. */
export const WEBHOOK_ANSWER_BYTES_MAX = 3 * 1024 * 1024;
/** Limits on a reported refusal or invalid answer of a webhook: its message, its details as JSON, and its reason. */
export const WEBHOOK_MESSAGE_CHARS_MAX = 10 * 1024;
export const WEBHOOK_REASON_CHARS_MAX = 256;
/** Connections to webhooks that stay open between calls. */
export const WEBHOOK_IDLE_CONNECTIONS_MAX = 25;

/** Conversions of a selection by converted fields, repeated because objects changed meanwhile. */
export const CONVERSION_ROUNDS_MAX = 10;
/** Kubernetes' time-out of a conversion webhook. */
export const CONVERSION_TIMEOUT_MS = 30_000;
/** Reported characters of its failure, which contains its own text. */
export const CONVERSION_MESSAGE_CHARS_MAX = 4 * 1024;
/** Objects in one call of a conversion webhook. */
export const CONVERSION_BATCH_OBJECTS = 500;
/** Characters of these objects as they are stored: an answer has at most WEBHOOK_ANSWER_BYTES_MAX. */
export const CONVERSION_BATCH_CHARS = 1024 * 1024;
/** Characters of one HTML tag whose links are rewritten for clients of a proxy; a longer tag passes unchanged. */
export const HTML_TAG_MAX = 16 * 1024;

/** As in Kubernetes: the kept length of a client's request id. */
export const AUDIT_ID_CHARACTERS_MAX = 64;
export const AUDIT_USER_AGENT_CHARACTERS_MAX = 1_024;
/** Addresses that proxies say a request came through. */
export const AUDIT_SOURCES_MAX = 20;
/** Annotations of one event, and characters of one of them. */
export const AUDIT_ANNOTATIONS_MAX = 200;
export const AUDIT_ANNOTATION_CHARACTERS_MAX = 64 * 1024;
/** Both objects of an event together; larger ones are omitted and marked. */
export const AUDIT_EVENT_OBJECT_BYTES_MAX = 1024 * 1024;
/** Events that wait for a sink, and their text; more are lost, and counted. */
export const AUDIT_QUEUE_EVENTS_MAX = 10_000;
export const AUDIT_QUEUE_CHARACTERS_MAX = 32 * 1024 * 1024;
/** A request waits no longer for a sink that does not answer. */
export const AUDIT_WRITE_MS = 5_000;
/** As kube-apiserver batches them, but sent sooner. */
export const AUDIT_WEBHOOK_BATCH_EVENTS = 400;
export const AUDIT_WEBHOOK_BATCH_CHARACTERS = 4 * 1024 * 1024;
export const AUDIT_WEBHOOK_BATCH_WAIT_MS = 5_000;
export const AUDIT_WEBHOOK_CALL_MS = 30_000;
/** The files with the credentials for a webhook are read again after this. */
export const AUDIT_WEBHOOK_CREDENTIALS_MS = 60_000;
/** A batch that a webhook does not take is sent again after this time, each time twice as long, so many times. */
export const AUDIT_WEBHOOK_RETRY_FIRST_MS = 1_000;
export const AUDIT_WEBHOOK_ATTEMPTS = 5;
/** A server that stops delivers its last events for this long; what is left then is counted as lost. */
export const AUDIT_STOP_MS = 5_000;

/**
 * Deadline of an aggregated API server for a response that is not a stream, as in Kubernetes, and for its resource
 * list.
 */
export const AGGREGATED_ANSWER_MS = 60_000;
export const AGGREGATED_DISCOVERY_MS = 5_000;
/** Connections to such servers that stay open between requests. */
export const AGGREGATED_IDLE_CONNECTIONS_MAX = 64;
/** Interval of availability checks, with pauses between failures, and the number of addresses per check. */
export const AVAILABILITY_INTERVAL_MS = 30_000;
export const AVAILABILITY_RETRY_FIRST_MS = 100;
export const AVAILABILITY_ADDRESSES_ASKED = 5;
/** Concurrently processed registrations. */
export const API_SERVICES_AT_ONCE = 8;
/** Refresh interval of such a server's resources and schemas. */
export const AGGREGATED_DOCUMENTS_INTERVAL_MS = 60_000;
export const AGGREGATED_DOCUMENTS_RETRY_FIRST_MS = 500;
/** Largest list of resources, resources in it, and largest OpenAPI document of such a server: those of all of Kubernetes have 0.2 and 4 MB. */
export const AGGREGATED_DISCOVERY_BYTES_MAX = MIB;
export const AGGREGATED_RESOURCES_MAX = 1_000;
export const AGGREGATED_OPENAPI_BYTES_MAX = 4 * MIB;
/** Bytes of OpenAPI documents of all such servers together. */
export const AGGREGATED_OPENAPI_BYTES_KEPT = 32 * MIB;

/** A ValidatingAdmissionPolicy is checked against so many kinds, as in Kubernetes, and so many expressions are checked in all. */
export const POLICY_KINDS_CHECKED = 10;
export const POLICY_EXPRESSIONS_CHECKED = 2_000;
/** Reported text per expression and kind, and per policy: a status is stored with its policy. */
export const POLICY_WARNING_CHARS_MAX = 4 * 1024;
export const POLICY_WARNINGS_CHARS_MAX = 64 * 1024;
export const POLICIES_CHECKED_AT_ONCE = 1;
/** Pauses between failures to write the result. */
export const POLICY_STATUS_RETRY_FIRST_MS = 100;
export const POLICY_STATUS_RETRY_LONGEST_MS = 30_000;

/** KMS v2: bounds of Kubernetes on the answers of a plugin. */
export const KMS_KEY_ID_BYTES_MAX = 1_024;
export const KMS_CIPHERTEXT_BYTES_MAX = 1_024;
export const KMS_ANNOTATIONS_BYTES_MAX = 32 * 1024;
/** More is not read. */
export const KMS_ANSWER_BYTES_MAX = 256 * 1024;
/** KMS v2: default deadline of a call. */
export const KMS_TIMEOUT_MS = 3_000;
/** KMS v2: pauses between two looks at the status, as in Kubernetes: of a healthy plugin, and of another one. */
export const KMS_STATUS_INTERVAL_MS = 60_000;
export const KMS_STATUS_RETRY_MS = 10_000;
/** KMS v2: writes go on for so long after the last good status, as in Kubernetes. */
export const KMS_WRITES_WITHOUT_STATUS_MS = 180_000;
/** KMS v2: decrypted seeds that are kept. A start of a server and a rotation make one each. */
export const KMS_SEEDS_KEPT = 10_000;
/** KMS v2: seeds whose failure is remembered, for error messages. */
export const KMS_FAILURES_KEPT = 1_000;
export const KMS_DECRYPTIONS_AT_ONCE = 8;
/** KMS v2: the feed of changes, which carries all resources, waits so long for a seed. */
export const KMS_FEED_WAIT_MS = 1_000;

// Relations between limits. A change that breaks one fails every test of the room.
/** A backup is sent in pieces of this size. */
export const BACKUP_PIECE_CHARACTERS = 64 * 1024;

/** A segment of the history: small enough that a list of the past reads little of what it does not need. */
export const HISTORY_SEGMENT_CHARS = 1024 * 1024;
/** After a crash the changes of about twice this time are read from the store again, without their authors. */
export const HISTORY_SEGMENT_MS = 10_000;
/** Texts that wait to be compressed and written. Above it the history begins anew: requests never wait for it. */
export const HISTORY_PENDING_CHARS_MAX = 64 * 1024 * 1024;
/** The text of one resource in one segment: the largest objects beside each other, with their states before. */
export const HISTORY_BLOCK_BYTES_MAX = 64 * 1024 * 1024;
/** Changes that are read from the store after a crash; a store keeps about as many. */
export const HISTORY_CAUGHT_UP_MAX = 60_000;
/** Clients whose newest seen revisions are known. */
export const HISTORY_CLIENTS_MAX = 2_048;
export const HISTORY_RESOURCES_OF_CLIENT_MAX = 64;
/** Characters of what a client says about itself in the history. */
export const HISTORY_TEXT_CHARS_MAX = 256;
/** Characters of the key of a refused write: namespace and name of what can be stored have 63 and 253. */
export const HISTORY_KEY_CHARS_MAX = 1_024;
/** Reads of one user that run or wait. The others are told to come again. */
export const HISTORY_READS_OF_USER_MAX = 16;
/** Authors of revisions are told to the other API servers this often, in one text of at most so many characters. */
export const AUTHOR_NOTE_MS = 100;
export const AUTHOR_NOTE_CHARS_MAX = 64 * 1024;
/**
 * The part of a note that tells of refused writes: a client that is refused all the time takes no more, and no place
 * of authors.
 */
export const REFUSALS_TOLD_CHARS_MAX = 8 * 1024;
/** API servers whose last note is known. */
export const NOTE_SENDERS_MAX = 256;
/** Authors whose revisions have not come yet, or not become a segment. */
export const AUTHORS_TOLD_MAX = 50_000;
/** A cache lags behind the other servers by fewer revisions than this. */
export const AUTHORS_AHEAD_MAX = 100_000;
/** Changes of a page, unless the client asks for another number. */
export const HISTORY_CHANGES_DEFAULT = 500;
export const HISTORY_CHANGES_MAX = 5_000;
/** Shown differences of one change. */
export const HISTORY_DIFFERENCES_MAX = 100;
/** Characters of the texts that are compared for one page: beyond, a page is shorter than asked for. */
export const HISTORY_COMPARED_CHARS_MAX = 16 * 1024 * 1024;

invariant(OBJECT_BYTES_MAX <= REQUEST_BODY_BYTES_MAX, 'every object that may be stored can be sent');
invariant(REQUEST_BODY_BYTES_MAX <= BODY_BYTES_IN_FLIGHT_MAX, 'one body always fits');
invariant(OBJECT_BYTES_MAX <= ANSWER_BYTES_IN_FLIGHT_MAX, 'one answer always fits');
invariant(OBJECT_BYTES_MAX <= WEBHOOK_ANSWER_BYTES_MAX, 'a webhook can answer with the largest object');
invariant(OBJECT_BYTES_MAX <= EVENT_BYTES_KEPT_PER_RESOURCE, 'the newest event of a resource is always kept');
invariant(EVENTS_KEPT_PER_RESOURCE <= WATCHER_QUEUE_FRAMES_MAX, 'a watch that resumes can take all kept events');
invariant(
  LONG_YAML_BYTES < REQUEST_BODY_BYTES_MAX && LARGE_BODY_BYTES < REQUEST_BODY_BYTES_MAX,
  'a long body is accepted',
);
invariant(
  YAML_READ_MS < REQUEST_RECEIVE_TIMEOUT_MS && QUEUE_WAIT_MS < REQUEST_RECEIVE_TIMEOUT_MS,
  'a request is read and queued within its time',
);
invariant(CONSISTENT_READ_TIMEOUT_MS < FEED_BROKEN_ENDS_WATCHES_MS, 'a read does not outwait a broken feed');
invariant(REQUEST_RECEIVE_TIMEOUT_MS < CONNECTION_IDLE_MS, 'a connection is not idle while it sends a request');
invariant(
  WEBHOOK_REASON_CHARS_MAX <= WEBHOOK_MESSAGE_CHARS_MAX && WEBHOOK_MESSAGE_CHARS_MAX <= WEBHOOK_ANSWER_BYTES_MAX,
  'what is quoted is a part of the answer of a webhook',
);
invariant(
  WEBHOOK_TIMEOUT_SECONDS_DEFAULT * 1_000 < REQUEST_RECEIVE_TIMEOUT_MS,
  'a webhook answers within the time of a request',
);
invariant(OBJECT_BYTES_MAX <= WATCHER_QUEUE_BYTES_MAX, 'one object does not end a watch');
invariant(WRITES_RESERVED < WRITES_IN_FLIGHT_MAX, 'clients can write beside the components');
invariant(WAITING_PER_FLOW_MAX <= WAITING_PER_EXEMPT_FLOW_MAX, 'exempt flows wait longer than others');
invariant(TLS_HANDSHAKE_TIMEOUT_MS < CONNECTION_IDLE_MS, 'a handshake ends before its connection is idle');
invariant(
  BOOKMARK_INTERVAL_MS < WATCH_TIMEOUT_MIN_MS && WATCH_TIMEOUT_MIN_MS < WATCH_TIMEOUT_MAX_MS,
  'a watch gets bookmarks before it ends',
);
invariant(FEED_RETRY_MS < FEED_BROKEN_ENDS_WATCHES_MS, 'the feed is tried again before watches end');
invariant(EVENT_SWEEP_INTERVAL_MS < EVENT_KEEP_MS, 'events are swept in time');
invariant(
  CLEANUP_LOOK_FIRST_MS <= CLEANUP_LOOK_LONGEST_MS,
  'the back-off of cleaning up begins with the shortest delay',
);
invariant(AUDIT_WEBHOOK_BATCH_EVENTS <= AUDIT_QUEUE_EVENTS_MAX, 'the queue of audit events holds a batch');
invariant(
  AUDIT_EVENT_OBJECT_BYTES_MAX <= AUDIT_WEBHOOK_BATCH_CHARACTERS &&
    AUDIT_WEBHOOK_BATCH_CHARACTERS <= AUDIT_QUEUE_CHARACTERS_MAX,
  'an audit event fits into a batch, a batch into the queue',
);
invariant(POD_TOKEN_SECONDS <= EXTENDED_POD_TOKEN_SECONDS, 'an extended token lives longer');
invariant(CONVERSION_TIMEOUT_MS < REQUEST_RECEIVE_TIMEOUT_MS, 'a conversion ends within the time of a request');
invariant(KMS_STATUS_INTERVAL_MS < KMS_WRITES_WITHOUT_STATUS_MS, 'a healthy plugin keeps its key valid');
invariant(
  KMS_TIMEOUT_MS < KMS_STATUS_RETRY_MS && KMS_STATUS_RETRY_MS <= KMS_STATUS_INTERVAL_MS,
  'a call of the plugin ends before the next one, and a failed one is repeated sooner',
);
invariant(KMS_FEED_WAIT_MS < KMS_TIMEOUT_MS, 'the feed of changes does not wait for a slow plugin');
invariant(
  KMS_KEY_ID_BYTES_MAX + KMS_CIPHERTEXT_BYTES_MAX + KMS_ANNOTATIONS_BYTES_MAX <= KMS_ANSWER_BYTES_MAX,
  'the largest encrypted seed fits into an answer',
);
invariant(
  AGGREGATED_DISCOVERY_MS < AGGREGATED_ANSWER_MS && AGGREGATED_DISCOVERY_MS < AVAILABILITY_INTERVAL_MS,
  'a check of an aggregated server ends before the next one',
);
invariant(
  AVAILABILITY_RETRY_FIRST_MS <= AVAILABILITY_INTERVAL_MS &&
    AGGREGATED_DOCUMENTS_RETRY_FIRST_MS <= AGGREGATED_DOCUMENTS_INTERVAL_MS,
  'the back-off of aggregated servers begins with the shortest delay',
);
invariant(
  AGGREGATED_OPENAPI_BYTES_MAX <= AGGREGATED_OPENAPI_BYTES_KEPT,
  'one document of an aggregated server is kept',
);
invariant(
  POLICY_STATUS_RETRY_FIRST_MS <= POLICY_STATUS_RETRY_LONGEST_MS,
  'the back-off of policies begins with the shortest delay',
);
invariant(POLICY_WARNING_CHARS_MAX <= POLICY_WARNINGS_CHARS_MAX, 'one warning fits into those of a policy');
invariant(MISSING_RIGHTS_BYTES_TOLD <= RULES_REVIEWED_BYTES_MAX, 'the missing rights are a part of the rules');
