/** Bytes of all annotation keys and values of one object. */
export const TOTAL_ANNOTATION_BYTES_MAX = 256 * 1024;
/** Bytes of the data of one ConfigMap or Secret. */
export const CONFIG_DATA_BYTES_MAX = 1024 * 1024;
/** Bytes of an event's note. */
export const EVENT_NOTE_BYTES_MAX = 1024;
/** Bytes of an event's reason or action. */
export const EVENT_TEXT_BYTES_MAX = 128;
/** Maximum lifetime of a token in seconds. */
export const TOKEN_EXPIRATION_SECONDS_MAX = 2 ** 32;
export const TOKEN_EXPIRATION_SECONDS_MIN = 600;
/** Name servers, search domains, and characters of the search list of a pod. */
export const DNS_NAMESERVERS_MAX = 3;
export const DNS_SEARCH_PATHS_MAX = 32;
export const DNS_SEARCH_LIST_CHARS_MAX = 2048;
/** PATH_MAX minus the terminating byte. */
export const APP_ARMOR_PROFILE_BYTES_MAX = 4095;
/**
 * Every pair of equal terms is an error, so a few kilobytes of terms could give millions. No more than this are
 * reported.
 */
export const TOPOLOGY_ERRORS_MAX = 1000;
/** Parameters of a storage class, and the bytes of all their keys and values. */
export const STORAGE_PARAMETERS_MAX = 512;
export const STORAGE_PARAMETER_BYTES_MAX = 256 * 1024;
/** Pods of an indexed job: above this the index annotations would not fit. */
export const INDEXED_JOB_PARALLELISM_MAX = 100_000;
export const INDEXED_JOB_FAILED_INDEXES_MAX = 100_000;
/** Warnings for one object: every pair of ports of a pod may cause one. */
export const WARNINGS_MAX = 1000;
