import type { Socket } from 'node:net';
import { DatagramReader, framedDatagram } from './agent/datagram-frames.ts';
import { DATAGRAM_BACKLOG_MAX_BYTES } from './agent/limits.ts';

/** Datagrams to and from one port of a pod. */
export interface DatagramLine {
  send(bytes: Uint8Array): void;
  close(): void;
}

export interface DatagramListener {
  message(bytes: Buffer): void;
  closed(): void;
}

/** Over a connection to the agent. Datagrams beyond what it takes are lost, as on a full link. */
export function datagramLine(socket: Socket, listener: DatagramListener): DatagramLine {
  const reader = new DatagramReader();
  socket.on('error', () => socket.destroy());
  socket.on('close', () => listener.closed());
  socket.on('data', (chunk: Buffer) => {
    for (const { bytes } of reader.push(chunk)) listener.message(bytes);
  });
  socket.resume();
  return {
    send: (bytes) => {
      if (socket.writableLength <= DATAGRAM_BACKLOG_MAX_BYTES) socket.write(framedDatagram(0, bytes));
    },
    close: () => socket.destroy(),
  };
}
