import type { Duplex, Readable, Writable } from 'node:stream';
import { type Clock, describeError, type Timer } from '@holdfast/platform';
import { FORWARDED_PORTS_MAX, STREAM_CLOSE_MS, STREAM_CREATION_MS } from './limits.ts';
import { createSpdySession, type SpdySession, type SpdyStream } from './spdy/session.ts';
import { acceptChannels, type ChannelEncoding } from './websocket/channels.ts';

export interface PortForwardDeps {
  readonly clock: Clock;
  readonly connect: (port: number) => Promise<Duplex>;
  readonly what: (port: number) => string;
}

/** One pair of streams per connection, opened by the client, over SPDY. Resolves when the client disconnects. */
export async function forwardOverSpdy(socket: Duplex, head: Uint8Array, deps: PortForwardDeps): Promise<void> {
  const waiting = new Map<string, { readonly stream: SpdyStream; readonly deadline: Timer }>();
  const session: SpdySession = createSpdySession(socket, {
    role: 'server',
    clock: deps.clock,
    head,
    onStream: (stream) => {
      const request = stream.headers['requestid'] ?? String(stream.id - (stream.id % 4));
      const other = waiting.get(request);
      if (other === undefined) {
        const deadline = deps.clock.timer(STREAM_CREATION_MS, () => stream.destroy());
        waiting.set(request, { stream, deadline });
        stream.once('close', () => {
          deadline.cancel();
          if (waiting.get(request)?.stream === stream) waiting.delete(request);
        });
        return;
      }
      // The deadline is for a pair to come together; the connection may last.
      other.deadline.cancel();
      waiting.delete(request);
      const [data, error] =
        other.stream.headers['streamtype'] === 'data' ? [other.stream, stream] : [stream, other.stream];
      void forwardPair(data, error, deps);
    },
  });
  await session.closed;
  // A stream that the client sent whole stays readable, but its pair cannot come any more.
  for (const { stream } of waiting.values()) stream.destroy();
}

async function forwardPair(data: SpdyStream, error: SpdyStream, deps: PortForwardDeps): Promise<void> {
  // Only its end arrives there.
  error.resume();
  const port = Number(data.headers['port']);
  try {
    if (!isPort(port)) throw new Error(`port ${JSON.stringify(data.headers['port'] ?? '')} is not a port number`);
    await join(await deps.connect(port), data, deps.clock);
  } catch (thrown) {
    error.write(`${deps.what(port)}: ${describeError(thrown)}`);
  }
  error.end();
  data.end();
  data.resume();
}

export const isPort = (port: number): boolean => Number.isInteger(port) && port > 0 && port < 0x1_0000;

/** Bytes both ways until both halves have ended, or one side is cut off. */
function join(connection: Duplex, client: Duplex, clock: Clock): Promise<void> {
  const done = Promise.withResolvers<void>();
  connection.on('error', (error) => {
    connection.destroy();
    done.reject(error);
  });
  connection.once('close', () => done.resolve());
  client.once('close', () => {
    if (client.readableEnded) destroyWhenSent(connection, clock);
    else connection.destroy();
    done.resolve();
  });
  client.pipe(connection);
  connection.pipe(client);
  return done.promise;
}

/** The client has gone. What it sent whole still reaches the pod, unless the pod does not read it in time. */
function destroyWhenSent(connection: Duplex, clock: Clock): void {
  if (connection.destroyed) return;
  const deadline = clock.timer(STREAM_CLOSE_MS, () => connection.destroy());
  connection.once('close', () => deadline.cancel());
  connection.end(() => connection.destroy());
}

/** The older protocol: the ports are in the query, and each has a channel for data and one for errors. */
export async function forwardOverChannels(
  socket: Duplex,
  head: Uint8Array,
  given: PortForwardDeps & { readonly ports: readonly number[]; readonly encoding: ChannelEncoding },
): Promise<void> {
  const { clock, encoding, ports } = given;
  const channels = acceptChannels(socket, head, { clock, encoding });
  const forwards = ports.map(async (port, index) => {
    const input = channels.input(2 * index);
    const data = channels.output(2 * index);
    const error = channels.output(2 * index + 1);
    // Each channel begins with the port that it is for.
    const announcement = Buffer.alloc(2);
    announcement.writeUInt16LE(port);
    data.write(announcement);
    error.write(announcement);
    try {
      const connection = await given.connect(port);
      void channels.closed.then(() => destroyWhenRead(connection, input, clock));
      await joinChannels(connection, input, data);
    } catch (thrown) {
      error.write(`${given.what(port)}: ${describeError(thrown)}`);
      input.resume();
    }
  });
  void Promise.all(forwards).then(() => channels.close());
  await channels.closed;
}

/** The client has gone, and its input ends behind what it sent. */
function destroyWhenRead(connection: Duplex, input: Readable, clock: Clock): void {
  if (input.readableEnded) return destroyWhenSent(connection, clock);
  const deadline = clock.timer(STREAM_CLOSE_MS, () => connection.destroy());
  connection.once('close', () => deadline.cancel());
  input.once('end', () => destroyWhenSent(connection, clock));
}

function joinChannels(connection: Duplex, input: Readable, output: Writable): Promise<void> {
  const done = Promise.withResolvers<void>();
  connection.on('error', (error) => {
    connection.destroy();
    done.reject(error);
  });
  connection.once('end', () => output.write(new Uint8Array(), () => done.resolve()));
  connection.once('close', () => done.resolve());
  input.once('end', () => connection.end());
  input.pipe(connection);
  connection.pipe(output, { end: false });
  return done.promise;
}

export function readPorts(query: URLSearchParams): readonly number[] {
  const texts = [...query.getAll('ports'), ...query.getAll('port')].flatMap((text) => text.split(','));
  return texts.map(Number).slice(0, FORWARDED_PORTS_MAX);
}
