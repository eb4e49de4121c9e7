/** Bounds of the control plane's side of the network of pods. Units are in the names. */

export const AGENT_START_DEADLINE_MS = 10_000;
export const AGENT_START_POLL_MS = 5;
export const AGENT_REQUEST_DEADLINE_MS = 30_000;
/** Longer than the agent's own deadline of nft. */
export const AGENT_NFT_DEADLINE_MS = 65_000;
/** Deadline of the test whether this user can make such a network. */
export const NETWORK_TEST_MS = 5_000;
/** How long the start of a pod waits for the network of its node, before it is tried again. */
export const NODE_NETWORK_WAIT_MS = 10_000;
export const NODE_NETWORK_POLL_MS = 50;
