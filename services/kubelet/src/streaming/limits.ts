import { invariant } from '@holdfast/platform/invariant';

/** Bounds of the streams that clients open to this node. Units are in the names. */

/** Kubernetes' `streamingConnectionIdleTimeout`: a connection without a byte for this long is closed. */
export const STREAM_IDLE_MS = 4 * 60 * 60 * 1000;
/** Kubernetes' `streamCreationTimeout`: a client opens all streams of a command within this time. */
export const STREAM_CREATION_MS = 30_000;
/** The ping interval. Pings detect a lost client even while nothing is read from it. */
export const STREAM_PING_MS = 30_000;
/** Deadline for a client to confirm a close, and for its last data to be read. */
export const STREAM_CLOSE_MS = 5_000;
/** Received and not yet taken, per stream; then the whole connection waits. */
export const STREAM_BUFFER_BYTES = 256 * 1024;
/** The largest piece of one write. */
export const STREAM_CHUNK_BYTES = 32 * 1024;
/** A resize message and other texts are far below. */
export const CHANNEL_MESSAGE_MAX_BYTES = 16 * 1024;
/** Names and values of one header block, decompressed. */
export const SPDY_HEADERS_MAX_BYTES = 64 * 1024;
/** Control frames are small; data frames go through in pieces. */
export const SPDY_CONTROL_FRAME_MAX_BYTES = 64 * 1024;
/** Unread responses to a client's control frames. A client that exceeds this is disconnected. */
export const STREAM_CONTROL_PENDING_MAX_BYTES = 1024 * 1024;
/** Streams of one connection at the same time: for port-forward two of each connection that it carries. */
export const SPDY_STREAMS_MAX = 2_000;
/** The protocol's own number, for peers that keep to windows. */
export const SPDY_INITIAL_WINDOW_BYTES = 64 * 1024;
/** Ports of one forwarding over the older WebSocket protocol. */
export const FORWARDED_PORTS_MAX = 100;

// Relations between limits. A change that breaks one fails every test of the room.
invariant(STREAM_CHUNK_BYTES <= STREAM_BUFFER_BYTES, 'one piece fits into the buffer of a stream');
invariant(
  SPDY_INITIAL_WINDOW_BYTES <= STREAM_BUFFER_BYTES,
  'a peer that keeps to its window does not overflow the buffer',
);
invariant(STREAM_PING_MS < STREAM_IDLE_MS && STREAM_CREATION_MS < STREAM_IDLE_MS, 'a lost client is noticed first');
invariant(2 * FORWARDED_PORTS_MAX <= SPDY_STREAMS_MAX, 'every forwarded port has its two streams');
