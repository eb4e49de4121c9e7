import { rmSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { describeError } from '@holdfast/platform';
import { DatagramReader, framedDatagram } from './agent/datagram-frames.ts';
import { DATAGRAM_BACKLOG_MAX_BYTES, FIRST_LINE_MAX_BYTES } from './agent/limits.ts';
import { LineReader } from './agent/line-reader.ts';
import type { DialAnswer, OutsideLine } from './agent/protocol.ts';
import { join } from './agent/relays.ts';
import type { PodDatagrams } from './other-datagrams.ts';

export interface Place {
  readonly host: string;
  readonly port: number;
}

/** What pods reach outside their network: a server of this machine, or one that answers datagrams. */
export interface OutsideTarget {
  readonly tcp?: () => Place | undefined;
  /** A connection to the server, where more than one is. Rejects when none accepts it. */
  readonly open?: () => Promise<Socket>;
  /** Takes over a connection of the pod with this address. */
  readonly accept?: (socket: Socket, source: string) => void;
  /** A connection to any place, for pods that connect to other networks. Rejects when it cannot be made. */
  readonly reach?: (place: Place) => Promise<Socket>;
  /** The datagrams of the pod with this address, each with the place that it goes to or comes from. */
  readonly exchange?: (source: string, say: (podPort: number, text: Buffer) => void) => PodDatagrams;
  /** `undefined`: no answer. `source` is the address of the pod. */
  readonly datagram?: (bytes: Buffer, source: string) => Promise<Buffer | undefined>;
}

/** The end of the agent's relays in the control plane, at a path in the file system. */
export class Outside {
  readonly #path: string;
  readonly #targets: ReadonlyMap<string, OutsideTarget>;
  readonly #sockets = new Set<Socket>();
  #server: Server | undefined;

  constructor(path: string, targets: ReadonlyMap<string, OutsideTarget>) {
    this.#path = path;
    this.#targets = targets;
  }

  start(): Promise<void> {
    rmSync(this.#path, { force: true });
    const server = createServer({ allowHalfOpen: true }, (socket) => this.#serve(socket));
    this.#server = server;
    return new Promise((resolve, reject) => {
      server.on('error', reject);
      server.listen(this.#path, resolve);
    });
  }

  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    for (const socket of this.#sockets) socket.destroy();
    if (server !== undefined) await new Promise<void>((resolve) => server.close(() => resolve()));
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('close', () => this.#sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    const reader = new LineReader(FIRST_LINE_MAX_BYTES);
    const read = (chunk: Buffer): void => {
      try {
        const found = reader.first(chunk);
        if (found === undefined) return;
        socket.off('data', read);
        socket.pause();
        if (found.rest.length > 0) socket.unshift(found.rest);
        this.#lead(socket, decode(found.line));
      } catch {
        // Not a line of the agent: somebody else found the socket.
        socket.destroy();
      }
    };
    socket.on('data', read);
  }

  #lead(socket: Socket, { target: name, protocol, from = '', to }: OutsideLine): void {
    const target = this.#targets.get(name);
    const place = protocol === 'tcp' ? target?.tcp?.() : undefined;
    if (protocol === 'udp' && target?.exchange !== undefined) exchangeDatagrams(socket, target.exchange, from);
    else if (protocol === 'udp' && target?.datagram !== undefined) {
      const { datagram } = target;
      answerDatagrams(socket, (bytes) => datagram(bytes, from));
    } else if (protocol === 'tcp' && to !== undefined && target?.reach !== undefined)
      void reachOut(socket, target.reach(to));
    else if (protocol === 'tcp' && target?.accept !== undefined) {
      target.accept(socket, from);
      socket.resume();
    } else if (protocol === 'tcp' && target?.open !== undefined) void joinOpened(socket, target.open());
    else if (place !== undefined) join(socket, connect({ ...place, allowHalfOpen: true }));
    else socket.destroy();
  }
}

/** The agent is our own program. */
const decode = (text: string): OutsideLine => JSON.parse(text) as OutsideLine;

/** The relay has accepted the connection already: one that leads nowhere ends. */
async function joinOpened(socket: Socket, opened: Promise<Socket>): Promise<void> {
  try {
    const outer = await opened;
    if (socket.destroyed) outer.destroy();
    else join(socket, outer);
  } catch {
    socket.destroy();
  }
}

/** The agent is told whether the connection was made; then its bytes follow. */
async function reachOut(socket: Socket, reached: Promise<Socket>): Promise<void> {
  const answer = (line: DialAnswer): void => void socket.write(`${JSON.stringify(line)}\n`);
  try {
    const outer = await reached;
    if (socket.destroyed) return void outer.destroy();
    answer({ connected: true });
    join(socket, outer);
  } catch (error) {
    answer({ refused: describeError(error) });
    socket.end();
    socket.resume();
  }
}

/** A datagram that cannot be passed on is lost, as on any link; nobody else is concerned. */
const lost = (): void => undefined;

/** Datagrams for a pod that does not read them are lost, as on a full link. */
function exchangeDatagrams(socket: Socket, exchange: NonNullable<OutsideTarget['exchange']>, source: string): void {
  const reader = new DatagramReader();
  const datagrams = exchange(source, (podPort, text) => {
    const hasRoom = socket.writable && socket.writableLength <= DATAGRAM_BACKLOG_MAX_BYTES;
    if (hasRoom) socket.write(framedDatagram(podPort, text));
  });
  socket.on('close', () => datagrams.close());
  socket.on('data', (chunk: Buffer) => {
    for (const { peer, bytes } of reader.push(chunk)) datagrams.receive(peer, bytes).catch(lost);
  });
  socket.on('end', () => socket.end());
  socket.resume();
}

function answerDatagrams(socket: Socket, answer: (bytes: Buffer) => Promise<Buffer | undefined>): void {
  const reader = new DatagramReader();
  socket.on('data', (chunk: Buffer) => {
    for (const { peer, bytes } of reader.push(chunk))
      answer(bytes)
        .then((said) => {
          const hasRoom = socket.writable && socket.writableLength <= DATAGRAM_BACKLOG_MAX_BYTES;
          if (said !== undefined && hasRoom) socket.write(framedDatagram(peer, said));
        })
        .catch(lost);
  });
  socket.on('end', () => socket.end());
  socket.resume();
}
