import type { Socket } from 'node:net';

export interface Place {
  readonly host: string;
  readonly port: number;
}

/** Connects to an endpoint. It has a deadline of its own. */
export type Dial = (place: Place) => Promise<Socket>;

export interface DatagramPeer {
  send(bytes: Uint8Array): void;
  close(): void;
}

/** Exchanges datagrams with an endpoint. It has a deadline of its own. */
export type DialDatagrams = (
  place: Place,
  listener: { message(bytes: Uint8Array): void; closed(): void },
) => Promise<DatagramPeer>;

/** The sender of a datagram. */
export interface DatagramClient {
  readonly address: string;
  readonly port: number;
  answer(bytes: Uint8Array): void;
}

/** Opens UDP ports. `accept` gets each datagram; it rejects with the error of the system. */
export type OpenUdpPort = (place: Place, accept: (bytes: Buffer, client: DatagramClient) => void) => Promise<OpenPort>;

/** One open port of this machine. */
export interface OpenPort {
  /** Ends its connections, too. */
  close(): Promise<void>;
}

/** Opens TCP ports. `accept` gets each connection; it rejects with the error of the system. */
export type OpenTcpPort = (place: Place, accept: (socket: Socket) => void) => Promise<OpenPort>;
