import { createSocket } from 'node:dgram';
import { isIPv6 } from 'node:net';
import type { OpenPort, OpenUdpPort } from './port.ts';

export const openUdpPort: OpenUdpPort = async ({ host, port }, accept): Promise<OpenPort> => {
  const socket = createSocket(isIPv6(host) ? 'udp6' : 'udp4');
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  socket.on('error', reject);
  socket.bind(port, host, resolve);
  let isOpen = true;
  socket.on('message', (bytes, { address, port: from }) => {
    const answer = (said: Uint8Array): void => {
      if (isOpen) socket.send(said, from, address, () => undefined);
    };
    accept(bytes, { address, port: from, answer });
  });
  try {
    await promise;
  } catch (error) {
    // A port that is taken is tried again and again: each socket would keep a descriptor.
    socket.close();
    throw error;
  }
  return {
    close: () => {
      isOpen = false;
      return new Promise((done) => socket.close(() => done()));
    },
  };
};
