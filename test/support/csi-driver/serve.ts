import { once } from 'node:events';
import { mkdirSync, rmSync } from 'node:fs';
import { createServer, type ServerHttp2Session } from 'node:http2';
import path from 'node:path';
import { connectNodeAdapter } from '@connectrpc/connect-node';
import { type CsiTestDriverOptions, csiTestDriver } from './driver.ts';

export interface ServedCsiDriver extends AsyncDisposable {
  /** The socket. */
  readonly endpoint: string;
}

/** Serves the driver on its socket until it is disposed; the socket is removed then. */
export async function serveCsiDriver(options: CsiTestDriverOptions): Promise<ServedCsiDriver> {
  const { endpoint } = options;
  mkdirSync(path.dirname(endpoint), { recursive: true });
  rmSync(endpoint, { force: true });
  const server = createServer(connectNodeAdapter({ routes: csiTestDriver(options) }));
  const sessions = new Set<ServerHttp2Session>();
  server.on('session', (session) => {
    sessions.add(session);
    session.on('close', () => sessions.delete(session));
  });
  server.listen(endpoint);
  await once(server, 'listening');
  return {
    endpoint,
    [Symbol.asyncDispose]: async () => {
      for (const session of sessions) session.destroy();
      rmSync(endpoint, { force: true });
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
    },
  };
}
