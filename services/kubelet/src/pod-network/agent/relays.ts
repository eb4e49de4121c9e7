import { createSocket, type Socket as DatagramSocket, type RemoteInfo } from 'node:dgram';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { DatagramReader, framedDatagram } from './datagram-frames.ts';
import { FairPlaces, type FairPlacesBounds } from './fair-places.ts';
import {
  DATAGRAM_BACKLOG_MAX_BYTES,
  DATAGRAM_LINES_MAX,
  DATAGRAM_PEERS_MAX,
  HALF_CLOSED_IDLE_MS,
  RELAY_CONNECTIONS_MAX,
  RELAY_CONNECTIONS_PER_POD_MAX,
} from './limits.ts';
import type { OutsideLine, Relay } from './protocol.ts';

interface Listening {
  close(): void;
}

interface RelayDeps {
  /** The path of the control plane's socket. */
  readonly outside: string;
  readonly connections: FairPlacesBounds;
  readonly groupOf: GroupOf;
}

/** The pods with which the pod at this address shares what all have together: those of its Kubernetes namespace. */
export type GroupOf = (address: string) => string;

const BOUNDS: FairPlacesBounds = { perHolder: RELAY_CONNECTIONS_PER_POD_MAX, all: RELAY_CONNECTIONS_MAX };

const nameOf = ({ address, port, protocol, target }: Relay): string => `${protocol} ${address}:${port} ${target}`;

/** Listens inside the network and carries what arrives to the control plane, over a socket in the file system. */
export class Relays {
  readonly #deps: RelayDeps;
  readonly #listening = new Map<string, Listening>();

  constructor(outside: string, groupOf: GroupOf, connections = BOUNDS) {
    this.#deps = { outside, groupOf, connections };
  }

  /** Their addresses are there already. */
  async serve(relays: readonly Relay[]): Promise<void> {
    const wanted = new Map(relays.map((relay) => [nameOf(relay), relay]));
    for (const [name, listening] of this.#listening) {
      if (wanted.has(name)) continue;
      this.#listening.delete(name);
      listening.close();
    }
    for (const [name, relay] of wanted) {
      if (this.#listening.has(name)) continue;
      const begin = relay.protocol === 'tcp' ? listenTcp : listenUdp;
      this.#listening.set(name, await begin(relay, this.#deps));
    }
  }
}

const firstLine = (line: OutsideLine): string => `${JSON.stringify(line)}\n`;

async function listenTcp(
  { address, port, target }: Relay,
  { outside, connections, groupOf }: RelayDeps,
): Promise<Listening> {
  const places = new PodConnections(connections, groupOf);
  const server: Server = createServer({ allowHalfOpen: true }, (inner) => {
    if (!places.admit(inner)) return void inner.destroy();
    const outer = connect({ path: outside, allowHalfOpen: true });
    outer.write(
      firstLine({
        target,
        protocol: 'tcp',
        ...(inner.remoteAddress === undefined ? {} : { from: inner.remoteAddress }),
      }),
    );
    join(inner, outer);
  });
  await new Promise<void>((resolve, reject) => {
    server.on('error', reject);
    server.listen(port, address, resolve);
  });
  return server;
}

/** Connections of pods, whose number is bounded. When there are too many, the greediest pod loses one to another pod. */
export class PodConnections {
  readonly #places: FairPlaces;
  readonly #groupOf: GroupOf;

  constructor(bounds: FairPlacesBounds, groupOf: GroupOf) {
    this.#groupOf = groupOf;
    this.#places = new FairPlaces(bounds);
  }

  /** False: the connection has no place and must end. */
  admit(socket: Socket, pod = socket.remoteAddress ?? ''): boolean {
    const release = this.#places.take(pod, () => socket.resetAndDestroy(), this.#groupOf(pod));
    if (release === undefined) return false;
    socket.once('close', release);
    return true;
  }
}

/** Either side may end its half first, and the other may then send on; an error ends both. */
export function join(one: Socket, other: Socket, halfClosedIdleMs = HALF_CLOSED_IDLE_MS): void {
  lead(one, other, halfClosedIdleMs);
  lead(other, one, halfClosedIdleMs);
}

function lead(from: Socket, to: Socket, halfClosedIdleMs: number): void {
  if (from.destroyed) return void to.destroy();
  from.pipe(to);
  from.on('error', () => to.destroy());
  from.on('close', () => to.destroySoon());
  from.once('end', () => {
    to.setTimeout(halfClosedIdleMs, () => {
      from.destroy();
      to.destroy();
    });
  });
}

async function listenUdp({ address, port, target }: Relay, { outside }: RelayDeps): Promise<Listening> {
  const socket = createSocket('udp4');
  await new Promise<void>((resolve, reject) => {
    socket.on('error', reject);
    socket.bind(port, address, resolve);
  }).catch((error: unknown) => {
    socket.close();
    throw error;
  });
  const lines = new DatagramLines(
    (from) => new DatagramLine(socket, outside, firstLine({ target, protocol: 'udp', from })),
  );
  socket.on('message', (bytes, from) => lines.of(from.address).send(bytes, from));
  return {
    close: () => {
      lines.close();
      socket.close();
    },
  };
}

/** One line for each pod, so that the control plane knows whose datagrams these are, and no pod fills the line of another. */
export class DatagramLines<L extends { close(): void }> {
  readonly #make: (from: string) => L;
  readonly #most: number;
  /** The one that was used last comes last. */
  readonly #lines = new Map<string, L>();

  constructor(make: (from: string) => L, most = DATAGRAM_LINES_MAX) {
    this.#make = make;
    this.#most = most;
  }

  of(from: string): L {
    const line = this.#lines.get(from) ?? this.#make(from);
    this.#lines.delete(from);
    this.#lines.set(from, line);
    const [quietest] = this.#lines;
    if (this.#lines.size > this.#most && quietest !== undefined) {
      this.#lines.delete(quietest[0]);
      quietest[1].close();
    }
    return line;
  }

  close(): void {
    for (const line of this.#lines.values()) line.close();
  }
}

/** The datagrams of one pod share a connection to the outside; a lost one is made again by the next datagram. */
export class DatagramLine {
  readonly #socket: Pick<DatagramSocket, 'send'>;
  readonly #outside: string;
  readonly #firstLine: string;
  readonly #peers = new Map<number, RemoteInfo>();
  #next = 0;
  #line: Socket | undefined;

  constructor(socket: Pick<DatagramSocket, 'send'>, outside: string, line: string) {
    this.#socket = socket;
    this.#outside = outside;
    this.#firstLine = line;
  }

  send(bytes: Buffer, from: RemoteInfo): void {
    this.#line ??= this.#connect();
    if (this.#line.writableLength > DATAGRAM_BACKLOG_MAX_BYTES) return;
    const peer = this.#next;
    this.#next = (this.#next + 1) % DATAGRAM_PEERS_MAX;
    this.#peers.set(peer, from);
    this.#line.write(framedDatagram(peer, bytes));
  }

  close(): void {
    this.#line?.destroy();
  }

  #connect(): Socket {
    const line = connect(this.#outside);
    const reader = new DatagramReader();
    line.write(this.#firstLine);
    line.on('data', (chunk: Buffer) => {
      for (const { peer, bytes } of reader.push(chunk)) this.#answer(peer, bytes);
    });
    line.on('error', () => undefined);
    line.on('close', () => {
      if (this.#line === line) this.#line = undefined;
    });
    return line;
  }

  #answer(peer: number, bytes: Buffer): void {
    const to = this.#peers.get(peer);
    this.#peers.delete(peer);
    if (to !== undefined) this.#socket.send(bytes, to.port, to.address, () => undefined);
  }
}
