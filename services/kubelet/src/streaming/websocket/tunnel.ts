import { Duplex } from 'node:stream';
import type { Clock } from '@holdfast/platform';
import { acceptWebSocket, CLOSE_CODE } from '@holdfast/platform/websocket';
import { STREAM_CLOSE_MS } from '../limits.ts';

/** The bytes of another protocol in the messages of a WebSocket. What came before its end can still be read for a short time. */
export function acceptTunnel(socket: Duplex, head: Uint8Array, clock: Clock): Duplex {
  const connection = acceptWebSocket(socket, head, {
    clock,
    onData: (piece) => {
      if (piece.length > 0 && !tunnel.destroyed && !tunnel.push(piece)) connection.pause();
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
  void connection.closed.then(() => {
    if (tunnel.destroyed) return;
    const deadline = clock.timer(STREAM_CLOSE_MS, () => tunnel.destroy());
    tunnel.once('close', () => deadline.cancel());
    tunnel.push(null);
  });
  return tunnel;
}
