import { invariant } from '@holdfast/platform/invariant';

/** How long an agent may take for one answer, unless its entry in the configuration says otherwise. */
export const AGENT_TIMEOUT_SECONDS_DEFAULT = 30;
/** After an agent failed, or gave an answer that confirms nothing, it is asked again. */
export const AGENT_RETRY_MS = 5_000;
/** An agent that is still at work is asked for its state. */
export const AGENT_PENDING_MS = 1_000;
/** More than an agent has to say; what floods is broken. */
export const AGENT_ANSWER_BYTES_MAX = 65_536;
/** What is quoted of an agent's words, on the Node and in Events. */
export const AGENT_WORDS_CHARS_MAX = 500;
/** Nodes that may be fenced by rules at one time: a fault that looks like the loss of many is rarely that. */
export const MAX_FENCED_DEFAULT = 1;
/** A pod whose disruption budget is used up waits no longer than this. */
export const EXHAUSTED_WAIT_SECONDS_DEFAULT = 30;
/** What was held back, or is waiting for somebody else, is looked at again. */
export const LOOK_AGAIN_MS = 10_000;
/** A fenced node at rest: pods and attachments that turn up late are released, too. */
export const FENCED_LOOK_MS = 30_000;
/** Over the agent's time-out: a claim whose owner shows no result for so long is finished by another fencer. */
export const TAKEOVER_MARGIN_MS = 15_000;
export const WORKERS = 4;
/** Over the agent's time-out, for the reads and writes of a pass. */
export const PASS_MARGIN_MS = 60_000;

// Relations between limits. A change that breaks one fails every test of the room.
invariant(AGENT_RETRY_MS < TAKEOVER_MARGIN_MS, 'an agent is asked again before another fencer takes over');
invariant(AGENT_PENDING_MS < AGENT_TIMEOUT_SECONDS_DEFAULT * 1_000, 'an agent at work is asked before it times out');
invariant(AGENT_WORDS_CHARS_MAX <= AGENT_ANSWER_BYTES_MAX, 'what is quoted is a part of the answer');
