import { constants, type Http2SecureServer, type ServerHttp2Session } from 'node:http2';
import type { Clock, Timer } from '@holdfast/platform/clock';
import { HEADERS_MAX, HTTP1_HEADERS_MAX_BYTES } from '../limits.ts';

/** Limits of a connection without a request. */
export interface ConnectionLimits {
  /** A client whose request (headers and body) is not complete by then is refused. */
  readonly receiveTimeoutMs: number;
  /** A connection whose TLS handshake is not complete by then is closed. */
  readonly handshakeTimeoutMs: number;
  /** A connection without an open request is closed after this. */
  readonly idleTimeoutMs: number;
  readonly connectionsMax: number;
}

export interface ConnectionGuard {
  stop(): void;
}

interface Watched {
  open: number;
  idleSince: number;
}

/** Looks this often within one idle time: a connection lives at most a quarter longer than it may. */
const LOOKS_PER_IDLE_TIME = 4;

/**
 * Ends connections that hold memory and ask for nothing. Of HTTP/1.1 the server of Node knows how; an HTTP/2 session is watched here, because its own
 * timeout starts again with every byte, so that a client could keep it alive with pings or with headers that never end.
 */
export function guardConnections(server: Http2SecureServer, clock: Clock, limits: ConnectionLimits): ConnectionGuard {
  limitHttp1(server, limits);
  const sessions = new Map<ServerHttp2Session, Watched>();
  server.on('session', (session) => watchSession(session, sessions, clock));
  const lookEveryMs = limits.idleTimeoutMs / LOOKS_PER_IDLE_TIME;
  let timer: Timer | undefined;
  const look = (): void => {
    endIdle(sessions, clock.monotonic() - limits.idleTimeoutMs);
    timer = clock.timer(lookEveryMs, look);
  };
  server.once('listening', () => {
    timer = clock.timer(lookEveryMs, look);
  });
  return { stop: () => timer?.cancel() };
}

function limitHttp1(server: Http2SecureServer, limits: ConnectionLimits): void {
  server.maxConnections = limits.connectionsMax;
  // The types know these of plain HTTP servers only; a server that allows HTTP/1.1 beside HTTP/2 has them too.
  Object.assign(server, {
    maxHeaderSize: HTTP1_HEADERS_MAX_BYTES,
    // Node drops the others without a word. One more than is allowed shows that there were too many.
    maxHeadersCount: HEADERS_MAX + 1,
    headersTimeout: limits.receiveTimeoutMs,
    // Bodies have a deadline of their own that answers with a Status; this one is for what never becomes a request.
    requestTimeout: limits.receiveTimeoutMs * 2,
    keepAliveTimeout: limits.idleTimeoutMs,
    connectionsCheckingInterval: limits.receiveTimeoutMs / 4,
  });
}

function watchSession(session: ServerHttp2Session, sessions: Map<ServerHttp2Session, Watched>, clock: Clock): void {
  const watched: Watched = { open: 0, idleSince: clock.monotonic() };
  sessions.set(session, watched);
  session.on('stream', (stream) => {
    watched.open += 1;
    stream.once('close', () => {
      watched.open -= 1;
      if (watched.open === 0) watched.idleSince = clock.monotonic();
    });
  });
  session.once('close', () => sessions.delete(session));
}

/** A goodbye first: a client that has just sent a request may send it again elsewhere. */
function endIdle(sessions: ReadonlyMap<ServerHttp2Session, Watched>, idleBefore: number): void {
  for (const [session, { open, idleSince }] of sessions) {
    if (open > 0 || idleSince > idleBefore) continue;
    if (session.closed) session.destroy();
    else {
      session.goaway(constants.NGHTTP2_NO_ERROR);
      session.close();
    }
  }
}
