import { connect } from 'node:net';
import type { Clock } from '@holdfast/platform';
import { ENTRANCE_DIAL_MS } from '../limits.ts';
import type { Dial } from './port.ts';

/** Connects over the network of this machine. */
export const createDirectDial =
  (clock: Clock): Dial =>
  async (place) => {
    const socket = connect({ ...place, allowHalfOpen: true });
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const deadline = clock.timer(ENTRANCE_DIAL_MS, () => reject(new Error(`${place.host} did not answer in time`)));
    socket.once('connect', resolve);
    socket.on('error', reject);
    try {
      await promise;
      return socket;
    } catch (error) {
      socket.destroy();
      throw error;
    } finally {
      deadline.cancel();
    }
  };
