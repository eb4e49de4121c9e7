import { INSIDE_DIAL_DEADLINE_MS } from '../runtime/inside-dialer.ts';
import { DIAL_DEADLINE_MS } from './agent/limits.ts';

/** Bounds of the control plane's side of the network of pods. Units are in the names. */

export const AGENT_START_DEADLINE_MS = 10_000;
export const AGENT_START_POLL_MS = 5;
export const AGENT_REQUEST_DEADLINE_MS = 30_000;
/** Longer than the agent's own deadline of nft. */
export const AGENT_NFT_DEADLINE_MS = 65_000;
/** Deadline of a connection into the network. The agent tries the address of the pod and then its loopback address. */
export const AGENT_DIAL_DEADLINE_MS = DIAL_DEADLINE_MS + INSIDE_DIAL_DEADLINE_MS + 5_000;
/** Deadline of a connection of a pod to another network. */
export const WAY_OUT_CONNECT_MS = 30_000;
/** Wait after a way to other networks could not be made. */
export const WAY_OUT_RETRY_MS = 10_000;
/** Deadline of the test whether this user can make such a network. */
export const NETWORK_TEST_MS = 5_000;
/** How long the start of a pod waits for the network of its node, before it is tried again. */
export const NODE_NETWORK_WAIT_MS = 10_000;
export const NODE_NETWORK_POLL_MS = 50;
/** How long the start of a pod waits for its network policies, before it is tried again. */
export const POLICIES_WAIT_MS = 10_000;
/** Sockets for datagrams of pods to other networks, one for each port of a pod that sends some. */
export const DATAGRAM_PORTS_MAX = 2_000;
export const DATAGRAM_PORTS_PER_POD_MAX = 500;
/** Places that are heard at one such socket: the last ones that the pod has asked. */
export const DATAGRAM_PEERS_PER_PORT_MAX = 256;
/** Time without a datagram after which such a socket is closed, as connection tracking forgets a flow. */
export const DATAGRAM_PORT_IDLE_MS = 60_000;
