/** Bounds of the streams that clients open to this node. Units are in the names. */

/** Kubernetes' `streamingConnectionIdleTimeout`: a connection without a byte for this long is closed. */
export const STREAM_IDLE_MS = 4 * 60 * 60 * 1000;
/** Kubernetes' `streamCreationTimeout`: a client opens all streams of a command within this time. */
export const STREAM_CREATION_MS = 30_000;
/** Between signs of life: a client that is gone is noticed by them even while nothing of it is read. */
export const STREAM_PING_MS = 30_000;
/** How long a client may take to confirm the end of a connection, and how long what it sent last may take to be read. */
export const STREAM_CLOSE_MS = 5_000;
/** Received and not yet taken, per stream; then the whole connection waits. */
export const STREAM_BUFFER_BYTES = 256 * 1024;
/** The largest piece that is sent at once. */
export const STREAM_CHUNK_BYTES = 32 * 1024;
/** A resize message and other texts are far below. */
export const CHANNEL_MESSAGE_MAX_BYTES = 16 * 1024;
/** Names and values of one header block, decompressed. */
export const SPDY_HEADERS_MAX_BYTES = 64 * 1024;
/** Control frames are small; data frames go through in pieces. */
export const SPDY_CONTROL_FRAME_MAX_BYTES = 64 * 1024;
/** Answers to control frames that the client asked for and does not read; a client that goes on is cut off. */
export const STREAM_CONTROL_PENDING_MAX_BYTES = 1024 * 1024;
/** Streams of one connection at the same time: for port-forward two of each connection that it carries. */
export const SPDY_STREAMS_MAX = 2_000;
/** The protocol's own number, for peers that keep to windows. */
export const SPDY_INITIAL_WINDOW_BYTES = 64 * 1024;
/** Ports of one forwarding over the older WebSocket protocol. */
export const FORWARDED_PORTS_MAX = 100;
