import { createServer, type Socket } from 'node:net';
import type { OpenPort, OpenTcpPort } from './port.ts';

export const openTcpPort: OpenTcpPort = async ({ host, port }, accept): Promise<OpenPort> => {
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    accept(socket);
  });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.on('error', reject);
  server.listen(port, host, resolve);
  await promise;
  return {
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        for (const socket of sockets) socket.destroy();
      }),
  };
};
