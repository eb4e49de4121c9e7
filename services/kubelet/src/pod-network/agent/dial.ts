import { createSocket } from 'node:dgram';
import { connect, type Socket } from 'node:net';
import type { InsideDialer } from '../../runtime/inside-dialer.ts';
import { DatagramReader, framedDatagram } from './datagram-frames.ts';
import type { FairPlaces } from './fair-places.ts';
import { DATAGRAM_BACKLOG_MAX_BYTES, DIAL_DEADLINE_MS } from './limits.ts';
import type { DialAnswer, DialLine } from './protocol.ts';
import { join } from './relays.ts';

interface DialDeps {
  readonly namespace: string | undefined;
  readonly inside: Pick<InsideDialer, 'dial'>;
  /** By the address of the pod. */
  readonly places: FairPlaces;
  readonly groupOf: (address: string) => string;
}

/** Makes a connection from outside one into the network. A port that refuses is tried at the loopback address of its pod. */
export async function dial(
  outer: Socket,
  { host, port }: DialLine['dial'],
  { namespace, inside, places, groupOf }: DialDeps,
): Promise<void> {
  if (outer.destroyed) return;
  const release = places.take(host, () => outer.destroy(), groupOf(host));
  if (release === undefined) throw new Error(`${host} has too many connections; close some and retry`);
  outer.once('close', release);
  const inner = await connectTo(host, port).catch((error: unknown) => {
    if (namespace === undefined || !isRefusal(error)) throw error;
    return inside.dial(namespace, port);
  });
  answer(outer, { connected: true });
  join(outer, inner);
}

/** Exchanges datagrams with a pod, in frames. A pod that does not listen yet is as silent as one that is not there. */
export async function dialDatagrams(
  outer: Socket,
  { host, port }: DialLine['dial'],
  { places, groupOf }: Pick<DialDeps, 'places' | 'groupOf'>,
): Promise<void> {
  if (outer.destroyed) return;
  const release = places.take(host, () => outer.destroy(), groupOf(host));
  if (release === undefined) throw new Error(`${host} has too many connections; close some and retry`);
  outer.once('close', release);
  const inner = createSocket('udp4');
  outer.once('close', () => inner.close());
  await new Promise<void>((resolve, reject) => {
    inner.on('error', reject);
    // No way to it is told here, and no 'error' follows.
    inner.connect(port, host, (error?: Error) => (error instanceof Error ? reject(error) : resolve()));
  });
  inner.on('message', (bytes) => {
    if (outer.writableLength <= DATAGRAM_BACKLOG_MAX_BYTES) outer.write(framedDatagram(0, bytes));
  });
  answer(outer, { connected: true });
  const reader = new DatagramReader();
  outer.on('data', (chunk: Buffer) => {
    for (const { bytes } of reader.push(chunk)) inner.send(bytes, () => undefined);
  });
  outer.on('end', () => outer.end());
  outer.resume();
}

export function refuse(outer: Socket, error: unknown): void {
  answer(outer, { refused: error instanceof Error ? error.message : String(error) });
  outer.end();
}

const answer = (outer: Socket, line: DialAnswer): void => void outer.write(`${JSON.stringify(line)}\n`);

function connectTo(host: string, port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, allowHalfOpen: true });
    socket.setTimeout(DIAL_DEADLINE_MS, () => socket.destroy(new Error(`connect ETIMEDOUT ${host}:${port}`)));
    socket.on('error', reject);
    socket.once('connect', () => {
      socket.setTimeout(0);
      resolve(socket);
    });
  });
}

const isRefusal = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ECONNREFUSED';
