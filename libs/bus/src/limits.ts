import { invariant } from '@holdfast/platform/invariant';

/** Messages that the in-process bus keeps for late subscribers: some seconds of the highest load one process produces. */
export const LOCAL_RETAINED_MESSAGES = 16_384;

/** Characters of message data kept by the in-process bus, so that a few large objects cannot fill the heap. */
export const LOCAL_RETAINED_CHARACTERS = 8 * 1024 * 1024;

/** The bus remembers the subscribers of at most this many channels. It is well above nodes + kinds. */
export const LOCAL_CHANNELS_REMEMBERED = 20_000;

/** The stream keeps changes for replay this long. A consumer that was away longer lists again from the API. */
export const STREAM_MAX_AGE_MS = 60 * 60 * 1000;

/** The stream keeps at most this many bytes of changes and drops the oldest first. */
export const STREAM_MAX_BYTES = 1024 * 1024 * 1024;

/** Largest NATS message: an object of 1.5 MiB with its frame, and room for growth. */
export const NATS_MAX_PAYLOAD_BYTES = 4 * 1024 * 1024;

/** Deadline for the acknowledgement of a publish and for the reply of one JetStream request. */
export const NATS_REQUEST_TIMEOUT_MS = 5_000;

/** A call waits this long for a connection before it throws `BusUnavailable`. */
export const NATS_CONNECTION_WAIT_MS = 2_000;

/**
 * Upper bound of the changes in one publish; only the last is acknowledged. A server accepts this many in a few
 * milliseconds.
 */
export const NATS_CHANGES_AT_ONCE = 256;

export const NATS_CONNECT_TIMEOUT_MS = 5_000;

/** The ping interval. Two missed pings reveal a cut that sends no reset. */
export const NATS_PING_INTERVAL_MS = 5_000;

/**
 * The server sends an idle consumer a heartbeat this often. Silence for more than twice this time means the consumer is
 * lost.
 */
export const CONSUMER_HEARTBEAT_MS = 5_000;
export const CONSUMER_SILENCE_MS = 12_000;

/** The server deletes a consumer without a listener after this time. Then its name is free again. */
export const CONSUMER_INACTIVE_MS = 5_000;

/**
 * A node's credential can create this many consumers: one for each kubelet process, plus those that lost connections
 * left behind.
 */
export const NODE_CONSUMERS_MAX = 8;

export const NATS_RETRY_FIRST_MS = 100;
export const NATS_RETRY_LONGEST_MS = 5_000;

// Relations between limits. A violation fails every test of this library.
invariant(CONSUMER_SILENCE_MS > 2 * CONSUMER_HEARTBEAT_MS, 'one lost heartbeat does not count as silence');
invariant(NATS_RETRY_FIRST_MS <= NATS_RETRY_LONGEST_MS, 'the back-off begins with the shortest delay');
invariant(NATS_CONNECTION_WAIT_MS < NATS_REQUEST_TIMEOUT_MS, 'a request that waits for a connection has time left');
invariant(NATS_MAX_PAYLOAD_BYTES < STREAM_MAX_BYTES, 'the stream holds more than one message');
