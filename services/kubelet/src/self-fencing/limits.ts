/** The node's promise: exclusive pods are dead when no renewal sent within this time was acknowledged. The least and default, and the most. */
export const PROMISE_SECONDS = 8;
export const PROMISE_SECONDS_MAX = 60;
export const PROMISE_RENEW_MS = 2_000;
/** Deadline of what keeps the promise on this machine. A guard that does not answer must not cost the renewal. */
export const GUARD_READY_MS = 3_000;
/** Deadline of a response; the request may still take effect later. */
export const PROMISE_ANSWER_MS = 2_500;
export const PROMISE_RETRY_MS = 500;
/** After a lapse, between looks whether everything is dead. */
export const LAPSE_LOOK_MS = 200;
/** A process that was being started when the deadline passed is found and ended within this time. */
export const LAPSE_SETTLE_MS = 1_000;
/** A pod whose start waits for a promise looks again so soon. */
export const START_RETRY_MS = 500;
/** A kubelet that stops waits so long for the API to take its promise back. */
export const WITHDRAW_MS = 2_000;
/** Writes of a renewal that is still on its way may come between. */
export const WITHDRAW_TRIES = 3;

if (PROMISE_RENEW_MS + PROMISE_ANSWER_MS + PROMISE_RETRY_MS >= PROMISE_SECONDS * 1000)
  throw new Error('one renewal that is lost must not end a promise');
if (PROMISE_RENEW_MS + GUARD_READY_MS + PROMISE_ANSWER_MS >= PROMISE_SECONDS * 1000)
  throw new Error('a promise without its guard is withdrawn before its deadline');
