/** Deadline of a call that only asks: names, capabilities, statistics. */
export const QUICK_DEADLINE_MS = 10_000;
/** Deadline of a call that changes a volume, as in Kubernetes' kubelet. The caller retries: the calls are idempotent. */
export const WORK_DEADLINE_MS = 120_000;
/** Limit of an answer. A driver that sends more is faulty. */
export const ANSWER_MAX_BYTES = 4 * 1024 * 1024;
/** Limit of a driver's message in events and conditions. */
export const MESSAGE_MAX_LENGTH = 1_000;
