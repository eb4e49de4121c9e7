import { Duplex } from 'node:stream';
import type { Clock } from '@holdfast/platform';
import { acceptWebSocket } from './connection.ts';
import { CLOSE_CODE } from './frames.ts';

/** The bytes of another protocol in the messages of a WebSocket. */
export function acceptTunnel(socket: Duplex, head: Uint8Array, clock: Clock): Duplex {
  const connection = acceptWebSocket(socket, head, {
    clock,
    onData: (piece) => {
      if (piece.length > 0 && !tunnel.push(piece)) connection.pause();
    },
  });
  const tunnel = new Duplex({
    read: () => connection.resume(),
    write: (chunk: Buffer, _encoding, done) => connection.send(chunk, () => done()),
    final: (done) => {
      connection.close(CLOSE_CODE.normal);
      done();
    },
    destroy: (error, done) => {
      connection.close(CLOSE_CODE.normal);
      done(error);
    },
  });
  void connection.closed.then(() => tunnel.destroy());
  return tunnel;
}
