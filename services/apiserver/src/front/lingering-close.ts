import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Clock } from '@holdfast/platform/clock';
import { REFUSAL_LINGER_MS } from '../limits.ts';

/**
 * Lets the client of a refused request read why. It may still be sending, and a connection that is closed with something unread is
 * reset, which takes the answer away from it. So what still comes is thrown away for a moment.
 */
export function closeAfterReading(socket: Socket, clock: Clock): void {
  socket.destroySoon = () => endAfterReading(socket, clock);
}

/** The same, immediately. */
export function endAfterReading(socket: Duplex, clock: Clock): void {
  // No further request is read from it. The first listener keeps it flowing while the others go.
  socket.on('data', NOTHING_TO_DO);
  socket.removeAllListeners('data');
  socket.on('data', NOTHING_TO_DO);
  socket.end();
  const timer = clock.timer(REFUSAL_LINGER_MS, () => socket.destroy());
  socket.once('close', () => timer.cancel());
}

const NOTHING_TO_DO = (): void => {};
