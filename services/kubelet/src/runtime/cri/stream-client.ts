import type { Duplex } from 'node:stream';
import { type Clock, describeError } from '@holdfast/platform';
import { nodeHttp } from '@holdfast/platform/http';
import { createSpdySession, type SpdySession } from '../../streaming/spdy/session.ts';
import { RuntimeError } from '../port.ts';
import { STREAM_OPEN_MS } from './limits.ts';

/** Opens the runtime's streaming address. Rejects when nothing listens there. */
export function openStreams(url: string, protocol: string, clock: Clock): Promise<SpdySession> {
  const opened = Promise.withResolvers<SpdySession>();
  const fail = (why: string, cause?: unknown): void =>
    opened.reject(new RuntimeError('Unavailable', `the runtime does not stream at ${hostOf(url)}: ${why}`, cause));
  const asking = nodeHttp().request(url, {
    method: 'POST',
    agent: false,
    headers: { connection: 'Upgrade', upgrade: 'SPDY/3.1', 'x-stream-protocol-version': protocol },
  });
  const timer = clock.timer(STREAM_OPEN_MS, () => asking.destroy(new Error('no answer in time')));
  asking.once('upgrade', (_response, socket: Duplex, head) => {
    timer.cancel();
    opened.resolve(createSpdySession(socket, { role: 'client', clock, head, onStream: (stream) => stream.destroy() }));
  });
  asking.once('response', (response) => {
    timer.cancel();
    response.resume();
    fail(`it answered ${response.statusCode}`);
  });
  asking.on('error', (error) => {
    timer.cancel();
    fail(describeError(error), error);
  });
  asking.end();
  return opened.promise;
}

/** The path contains a token that grants access to the stream. */
const hostOf = (url: string): string => new URL(url).host;
