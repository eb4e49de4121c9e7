/** Numbers of the names of services. Units are in the names. */

export const DNS_PORT = 53;
/** The time to live of answers, as in Kubernetes' own DNS. */
export const NAME_TTL_SECONDS = 5;
/** Other clusters of this machine have theirs. */
export const DNS_ADDRESSES_TRIED = 100;
/** The size that every client accepts in one datagram (RFC 1035). */
export const DNS_UDP_BYTES = 512;
/** The size of questions that this server takes in one datagram. */
export const DNS_EDNS_BYTES = 1_232;
/** Each of the machine's servers gets this long; resolvers ask again after 5 s. */
export const DNS_FORWARD_MS = 2_000;
export const DNS_FORWARDS_MAX = 200;
export const DNS_CONNECTIONS_MAX = 100;
export const DNS_CONNECTION_IDLE_MS = 10_000;
