import type { Duplex } from 'node:stream';
import type { Clock } from '@holdfast/platform';
import {
  type CommandConnection,
  endText,
  readTerminalSizes,
  type StreamEnd,
  type StreamOptions,
} from './command-connection.ts';
import { CHANNEL_MESSAGE_MAX_BYTES, STREAM_CREATION_MS } from './limits.ts';
import { createSpdySession, type SpdySession, type SpdyStream } from './spdy/session.ts';

/** The features of protocol versions, newest first. */
export const COMMAND_SPDY_PROTOCOLS: ReadonlyMap<string, { readonly status: boolean; readonly resize: boolean }> =
  new Map([
    ['v5.channel.k8s.io', { status: true, resize: true }],
    ['v4.channel.k8s.io', { status: true, resize: true }],
    ['v3.channel.k8s.io', { status: false, resize: true }],
    ['v2.channel.k8s.io', { status: false, resize: false }],
    ['channel.k8s.io', { status: false, resize: false }],
  ]);

interface Given {
  readonly clock: Clock;
  readonly options: StreamOptions;
  readonly protocol: { readonly status: boolean; readonly resize: boolean };
}

/** Resolves when the client has opened every requested stream; `undefined` after a time-out. */
export async function acceptCommandSpdy(
  socket: Duplex,
  head: Uint8Array,
  given: Given,
): Promise<CommandConnection | undefined> {
  const expected = expectedStreams(given);
  const streams = new Map<string, SpdyStream>();
  const complete = Promise.withResolvers<boolean>();
  const session = createSpdySession(socket, {
    role: 'server',
    clock: given.clock,
    head,
    onStream: (stream) => {
      const type = stream.headers['streamtype'] ?? '';
      if (!expected.has(type) || streams.has(type)) return void stream.destroy();
      streams.set(type, stream);
      if (streams.size === expected.size) complete.resolve(true);
      return undefined;
    },
  });
  const deadline = given.clock.timer(STREAM_CREATION_MS, () => complete.resolve(false));
  void session.closed.then(() => complete.resolve(false));
  const isComplete = await complete.promise;
  deadline.cancel();
  if (isComplete) return connection(session, streams, given);
  socket.destroy();
  return undefined;
}

function sentToItsEnd(stream: SpdyStream): Promise<void> {
  return new Promise((resolve) => {
    stream.once('close', resolve);
    stream.end(() => resolve());
  });
}

function expectedStreams({ options, protocol }: Given): ReadonlySet<string> {
  return new Set([
    'error',
    ...(options.stdin ? ['stdin'] : []),
    ...(options.stdout ? ['stdout'] : []),
    ...(options.stderr && !options.tty ? ['stderr'] : []),
    ...(options.tty && protocol.resize ? ['resize'] : []),
  ]);
}

function connection(
  session: SpdySession,
  streams: ReadonlyMap<string, SpdyStream>,
  { protocol }: Given,
): CommandConnection {
  const finish = (end: StreamEnd): void => {
    const error = streams.get('error');
    const text = endText(end, protocol.status);
    const outputs = ['stdout', 'stderr'].flatMap((type) => streams.get(type) ?? []);
    // Data that waits for flow control is sent first: nothing arrives after the end of the session.
    void Promise.all(outputs.map(sentToItsEnd)).then(() => {
      if (error === undefined) session.close();
      else error.end(text, () => session.close());
    });
  };
  return {
    stdin: streams.get('stdin'),
    stdout: streams.get('stdout'),
    stderr: streams.get('stderr'),
    onResize: (listener) => {
      const resize = streams.get('resize');
      let text = '';
      resize?.on('data', (chunk: Buffer) => {
        text += chunk.toString('utf8');
        const { sizes, rest } = readTerminalSizes(text);
        text = rest;
        for (const size of sizes) listener(size);
        if (text.length > CHANNEL_MESSAGE_MAX_BYTES) session.close();
      });
    },
    finish,
    closed: session.closed,
  };
}
