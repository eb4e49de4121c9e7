/** Numbers of the names of services. Units are in the names. */

export const DNS_PORT = 53;
/** The time to live of answers, as in Kubernetes' own DNS. */
export const NAME_TTL_SECONDS = 5;
/** Other clusters of this machine have theirs. */
export const DNS_ADDRESSES_TRIED = 100;
/** The size that every client accepts in one datagram (RFC 1035). */
export const DNS_UDP_BYTES = 512;
/** What the length of a message over TCP can say (RFC 1035, 4.2.2). */
export const DNS_MESSAGE_MAX_BYTES = 65_535;
/** The size of questions that this server takes in one datagram. */
export const DNS_EDNS_BYTES = 1_232;
/** Each of the machine's servers gets this long; resolvers ask again after 5 s. */
export const DNS_FORWARD_MS = 2_000;
/** Questions that wait for those servers. Beyond this, the source that has the most loses one to a source that has fewer. */
export const DNS_FORWARDS_MAX = 200;
export const DNS_FORWARDS_PER_SOURCE_MAX = 100;
/** Shared in the same way. */
export const DNS_CONNECTIONS_MAX = 500;
/** Pods on the machine's network are one source together. */
export const DNS_CONNECTIONS_PER_SOURCE_MAX = 100;
/** Time since the last whole query or its answer, whatever else the client sends. */
export const DNS_CONNECTION_IDLE_MS = 10_000;
/** Queries of one connection that are answered at the same time. The next ones are not read before that. */
export const DNS_PIPELINE_MAX = 16;
/** Answers that a client has not read yet. Beyond this its queries are not read. */
export const DNS_ANSWER_BACKLOG_MAX_BYTES = 64 * 1024;
