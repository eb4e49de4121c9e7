/** Bounds of the agent inside the network of pods. Units are in the names. */

/** Deadline of one program that changes the network. */
export const PROGRAM_DEADLINE_MS = 10_000;
/** Deadline of nft, which may write the rules of thousands of services at once. */
export const NFT_DEADLINE_MS = 60_000;
export const PROGRAM_OUTPUT_MAX_BYTES = 16 * 1024;
/** Namespaces that are made at the same time: the kernel makes them one after the other. */
export const PARALLEL_CHANGES = 4;
/** An agent without pods and without a client ends after this time. */
export const AGENT_IDLE_EXIT_MS = 10_000;
/** Connection deadline into a pod. */
export const DIAL_DEADLINE_MS = 10_000;
/** Connections from outside to one pod, and to all pods; shared like those to a relay. */
export const DIALS_PER_POD_MAX = 1_000;
export const DIALS_MAX = 4_000;
/** The first line of a connection. */
export const FIRST_LINE_MAX_BYTES = 4_096;
export const REQUEST_LINE_MAX_BYTES = 64 * 1024 * 1024;
/** Datagrams of one pod that may wait for answers; the oldest is forgotten. */
export const DATAGRAM_PEERS_MAX = 2_000;
/** Pods that send datagrams to one address, each over a connection of its own. The one that was quiet longest loses its. */
export const DATAGRAM_LINES_MAX = 500;
/** Bytes of datagrams of one pod that wait on one way between the agent and the control plane. More are lost, as on a full link. */
export const DATAGRAM_BACKLOG_MAX_BYTES = 1024 * 1024;
/** Connections of one pod to one relay. Each holds file descriptors of the agent and of the control plane. */
export const RELAY_CONNECTIONS_PER_POD_MAX = 1_000;
/**
 * Connections of all pods to one relay: the control plane needs descriptors for everything else, too. Beyond, the pod that
 * has the most loses one to a pod that has fewer.
 */
export const RELAY_CONNECTIONS_MAX = 4_000;
/** Connections of all pods to other networks; shared in the same way. */
export const WAY_OUT_CONNECTIONS_MAX = 5_000;
/**
 * Time without bytes after which a connection ends whose one side has ended. The kernel's connection tracking forgets
 * such connections after the same time. A pod could else keep every connection that the control plane has closed.
 */
export const HALF_CLOSED_IDLE_MS = 120_000;
/** Datagrams that one pod sends to the servers of this network in a second. A resolver that got no answer asks again. */
export const RELAY_DATAGRAMS_PER_SECOND_MAX = 2_000;
/** Connections that one pod begins in a second, to those servers or to other networks. The kernel of the pod tries again. */
export const CONNECTIONS_PER_SECOND_MAX = 500;
/** Datagrams that one pod sends to other networks in a second. */
export const WAY_OUT_DATAGRAMS_PER_SECOND_MAX = 5_000;
/** Wait before the helper for datagrams is started again after its end. */
export const DATAGRAM_HELPER_RETRY_MS = 1_000;
