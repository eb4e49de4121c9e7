import { connect, type Socket } from 'node:net';
import type { Clock } from '@holdfast/platform';
import { API_CONNECT_MS } from './limits.ts';

export interface LivingServerDeps {
  /** `https://host:port`; at least one. */
  readonly servers: readonly string[];
  readonly clock: Clock;
  /** Default: a connection of this machine. */
  readonly open?: (place: { readonly host: string; readonly port: number }) => Promise<Socket>;
}

const HTTPS_PORT = 443;

/** Connects to a server that accepts connections: the one that did last, else the next in turn. */
export function createLivingServer({ servers, clock, open = opener(clock) }: LivingServerDeps): () => Promise<Socket> {
  const places = servers.map((text) => {
    const { hostname, port } = new URL(text);
    return { host: hostname.replace(/^\[|\]$/g, ''), port: port === '' ? HTTPS_PORT : Number(port) };
  });
  let last = 0;
  return async () => {
    const first = last;
    let refusal: unknown;
    for (let i = 0; i < places.length; i++) {
      const index = (first + i) % places.length;
      const place = places[index];
      if (place === undefined) continue;
      try {
        const socket = await open(place);
        last = index;
        return socket;
      } catch (error) {
        refusal = error;
      }
    }
    throw new Error('no API server accepts connections', { cause: refusal });
  };
}

const opener =
  (clock: Clock) =>
  (place: { readonly host: string; readonly port: number }): Promise<Socket> =>
    new Promise((resolve, reject) => {
      const socket = connect({ ...place, allowHalfOpen: true });
      const deadline = clock.timer(API_CONNECT_MS, () => socket.destroy(new Error('no answer in time')));
      // After the connection is there, the error belongs to its user.
      socket.on('error', (error) => {
        deadline.cancel();
        reject(error);
      });
      socket.once('connect', () => {
        deadline.cancel();
        resolve(socket);
      });
    });
