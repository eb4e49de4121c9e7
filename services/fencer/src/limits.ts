import { invariant } from '@holdfast/platform/invariant';

/** Default deadline of an agent for one answer. */
export const AGENT_TIMEOUT_SECONDS_DEFAULT = 30;
/** Wait before the next request after an agent failed or did not confirm. */
export const AGENT_RETRY_MS = 5_000;
/** Poll interval for the state of a pending agent. */
export const AGENT_PENDING_MS = 1_000;
/** Larger than any valid answer. */
export const AGENT_ANSWER_BYTES_MAX = 65_536;
/** Characters of an agent's text that the Node and Events repeat. */
export const AGENT_WORDS_CHARS_MAX = 500;
/** Nodes that rules may fence at the same time: an apparent loss of many nodes is rarely real. */
export const MAX_FENCED_DEFAULT = 1;
/** Maximum wait of a pod whose disruption budget is exhausted. */
export const EXHAUSTED_WAIT_SECONDS_DEFAULT = 30;
/** Requeue interval for steps that are held back or wait for something else. */
export const LOOK_AGAIN_MS = 10_000;
/** Requeue interval of a fenced node: late pods and attachments are released, too. */
export const FENCED_LOOK_MS = 30_000;
/** Added to the agent's time-out: after this time without a result, another fencer takes over the claim. */
export const TAKEOVER_MARGIN_MS = 15_000;
/** Requeue interval of a claim that waits for others to give way: their fencers count at once. */
export const COUNT_AGAIN_MS = 1_000;
export const WORKERS = 4;
/** Added to the agent's time-out for the reads and writes of a pass. */
export const PASS_MARGIN_MS = 60_000;

// Relations between limits. A violation fails every test of this service.
invariant(AGENT_RETRY_MS < TAKEOVER_MARGIN_MS, 'an agent is asked again before another fencer takes over');
invariant(AGENT_PENDING_MS < AGENT_TIMEOUT_SECONDS_DEFAULT * 1_000, 'an agent at work is asked before it times out');
invariant(AGENT_WORDS_CHARS_MAX <= AGENT_ANSWER_BYTES_MAX, 'what is quoted is a part of the answer');
