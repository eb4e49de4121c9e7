import type { Socket } from 'node:net';

export interface Place {
  readonly host: string;
  readonly port: number;
}

/** Connects to an endpoint. It has a deadline of its own. */
export type Dial = (place: Place) => Promise<Socket>;

/** One open port of this machine. */
export interface OpenPort {
  /** Ends its connections, too. */
  close(): Promise<void>;
}

/** Opens TCP ports. `accept` gets each connection; it rejects with the error of the system. */
export type OpenTcpPort = (place: Place, accept: (socket: Socket) => void) => Promise<OpenPort>;
