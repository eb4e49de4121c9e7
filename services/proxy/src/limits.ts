import { invariant } from '@holdfast/platform/invariant';

/** Elements that one line of the script names: long lines cost nft memory. */
export const ELEMENTS_PER_LINE = 1_000;
/** Changes that come within this time are one transaction. */
export const GATHER_MS = 10;
/** Wait after a failed transaction before everything is written again. */
export const RETRY_BASE_MS = 1_000;
export const RETRY_MAX_MS = 30_000;
/** Interval of the check that the rules are still in the kernel. */
export const CHECK_INTERVAL_MS = 30_000;
/** Deadline of one transaction. A whole table of 5,000 services takes about a second. */
export const NFT_TIMEOUT_MS = 60_000;
/** Characters of the complaint of nft that errors repeat. */
export const COMPLAINT_CHARS_MAX = 500;
/** Larger than any answer that is read. */
export const NFT_ANSWER_BYTES_MAX = 65_536;
/** Slots of the smallest pool. */
export const POOL_SLOTS_MIN = 4;
/**
 * Slots of one map of targets. For each rule that reads a map the kernel walks through the whole map, so few rules share
 * one; and nft lists all maps before each transaction, so there are not many.
 */
export const MAP_SLOTS = 1_024;
/** Default time that a client stays with its endpoint. */
export const AFFINITY_SECONDS_DEFAULT = 10_800;

/**
 * Connections through one open port of this machine, and through all of them. Each holds two file descriptors. One
 * namespace gets no more of all than remain free, and one client no more of a port (`mayTake`).
 */
export const ENTRANCE_CONNECTIONS_MAX = 1_000;
export const ALL_ENTRANCE_CONNECTIONS_MAX = 4_000;
/** A change that waits for longer makes the proxy unhealthy; kube-proxy has the same bound. */
export const HEALTH_TIMEOUT_MS = 60_000;
/** Deadline of one request for health, and the number of connections to one health port. */
export const HEALTH_REQUEST_MS = 10_000;
export const HEALTH_CONNECTIONS_MAX = 256;
/** Deadline of one run of conntrack. */
export const CONNTRACK_TIMEOUT_MS = 10_000;
/** Kinds of stale flows that wait for their removal. Those beyond end by their own time-out. */
export const FLOW_DELETIONS_PENDING_MAX = 2_000;
/** Runs of conntrack, one after the other, that a stop waits for. */
export const FLOW_DELETIONS_BATCH = 16;
/** Wait before a port of this machine that could not be opened is tried again. */
export const ENTRANCE_RETRY_MS = 10_000;
/** Time without bytes after which a connection ends whose one side has ended, as in the kernel's connection tracking. */
export const ENTRANCE_HALF_CLOSED_MS = 120_000;
/** Deadline of a connection to an endpoint. */
export const ENTRANCE_DIAL_MS = 10_000;
/**
 * Open ports of this machine, and those of one service: a quota of load balancers counts services, not ports. One namespace
 * gets no more than remain free.
 */
export const ENTRANCES_MAX = 2_000;
export const ENTRANCES_PER_SERVICE_MAX = 200;
/** Open host ports of pods at this machine, and those of one pod. Namespaces share them equally. */
export const HOST_PORTS_MAX = 1_000;
export const HOST_PORTS_PER_POD_MAX = 100;
/** Time without a datagram after which a client's flow through an open port ends; flows count as connections. */
export const DATAGRAM_FLOW_IDLE_MS = 60_000;
/** Datagrams of one client that wait until the endpoint is reached. More are lost. */
export const DATAGRAMS_WAITING_MAX = 32;
/** Clients whose endpoints are remembered for session affinity. */
export const ENTRANCE_CLIENTS_MAX = 10_000;
/** Addresses that are tried for one load balancer, when its ports are taken at the first ones. */
export const ADDRESS_ATTEMPTS_MAX = 64;

// Relations between limits. A violation fails every test of this service.
invariant(GATHER_MS < RETRY_BASE_MS, 'a failed transaction is not repeated as fast as changes come');
invariant(POOL_SLOTS_MIN <= MAP_SLOTS, 'the smallest pool fits into a map');
invariant(Number.isInteger(Math.log2(MAP_SLOTS / POOL_SLOTS_MIN)), 'large pools end where a map ends');
invariant(RETRY_MAX_MS < HEALTH_TIMEOUT_MS, 'a proxy that recovers is not taken for one that hangs');
invariant(RETRY_BASE_MS <= RETRY_MAX_MS, 'the back-off grows');
invariant(COMPLAINT_CHARS_MAX <= NFT_ANSWER_BYTES_MAX, 'what is quoted is a part of the answer');
