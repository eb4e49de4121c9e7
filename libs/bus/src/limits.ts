import { invariant } from '@holdfast/platform/invariant';

/** Messages that the in-process bus keeps for late subscribers: some seconds of the highest load one process produces. */
export const LOCAL_RETAINED_MESSAGES = 16_384;

/** Characters of message data kept by the in-process bus, so that a few large objects cannot fill the heap. */
export const LOCAL_RETAINED_CHARACTERS = 8 * 1024 * 1024;

/** Channels whose subscribers are remembered: well above nodes + kinds. */
export const LOCAL_CHANNELS_REMEMBERED = 20_000;

/** How long the stream keeps changes for replay. It is derived from the store: a consumer that was away longer lists again. */
export const STREAM_MAX_AGE_MS = 60 * 60 * 1000;

/** Bytes of changes the stream keeps; the oldest go first. */
export const STREAM_MAX_BYTES = 1024 * 1024 * 1024;

/** Largest NATS message: an object of 1.5 MiB with its frame, and room for growth. */
export const NATS_MAX_PAYLOAD_BYTES = 4 * 1024 * 1024;

/** Waiting for the acknowledgement of a publish, or the answer of one JetStream request. */
export const NATS_REQUEST_TIMEOUT_MS = 5_000;

/** How long a call waits for a connection before it says that there is none. */
export const NATS_CONNECTION_WAIT_MS = 2_000;

/** Changes of one publish, of which the last is acknowledged: what a server takes in a few milliseconds. */
export const NATS_CHANGES_AT_ONCE = 256;

export const NATS_CONNECT_TIMEOUT_MS = 5_000;

/** A cut that sends no reset is noticed after two of these. */
export const NATS_PING_INTERVAL_MS = 5_000;

/** The server tells an idle consumer that it is alive this often; silence of more than twice as long means it is not. */
export const CONSUMER_HEARTBEAT_MS = 5_000;
export const CONSUMER_SILENCE_MS = 12_000;

/** A consumer that nobody listens to ends after this; its name is free again. */
export const CONSUMER_INACTIVE_MS = 5_000;

/** Consumers that the credential of one node can create: one for each kubelet process, and room for what lost connections left behind. */
export const NODE_CONSUMERS_MAX = 8;

export const NATS_RETRY_FIRST_MS = 100;
export const NATS_RETRY_LONGEST_MS = 5_000;

// Relations between limits. A change that breaks one fails every test of the room.
invariant(CONSUMER_SILENCE_MS > 2 * CONSUMER_HEARTBEAT_MS, 'one lost heartbeat is no silence');
invariant(NATS_RETRY_FIRST_MS <= NATS_RETRY_LONGEST_MS, 'the back-off begins with the shortest delay');
invariant(NATS_CONNECTION_WAIT_MS < NATS_REQUEST_TIMEOUT_MS, 'a request that waits for a connection has time left');
invariant(NATS_MAX_PAYLOAD_BYTES < STREAM_MAX_BYTES, 'the stream holds more than one message');
