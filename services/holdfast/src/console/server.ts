import type { HttpsLimits } from '@holdfast/apiserver/https';
import { createSameThreadHttpsServer, type SameThreadHttpsServer } from '@holdfast/apiserver/same-thread-https';
import type { ApiHandler } from '@holdfast/client';
import { createStreamingTransport, type StreamingTransportOptions } from '@holdfast/client/streaming';
import { createConsoleHandler, createUpstream, Files } from '@holdfast/console';
import { Sessions } from '@holdfast/console/sessions';
import type { Log } from '@holdfast/platform';
import { createSecret } from '../embedded/secret.ts';

export interface ConsoleServerDeps extends StreamingTransportOptions {
  readonly tls: { readonly certificate: string; readonly key: string };
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
  readonly log: Log;
  readonly limits?: Partial<HttpsLimits>;
  readonly files?: Files;
}

export interface ConsoleServer {
  readonly https: SameThreadHttpsServer;
  readonly closeUpstream: () => Promise<void>;
}

/** People, not programs, connect here: a browser has one connection over HTTP/2, and one for each terminal. */
const LIMITS = { connectionsMax: 512 };

/** The HTTPS server of the API in front of the console: its bounds on bodies, connections and slow clients hold here, too. */
export async function createConsoleServer(deps: ConsoleServerDeps): Promise<ConsoleServer> {
  const { clock, log, tls, host, port, servers, limits, files = new Files() } = deps;
  await files.prepare();
  const transport = createStreamingTransport(deps);
  const upstream = createUpstream(transport, servers);
  const sessions = new Sessions({ clock, secret: createSecret });
  const offers = { play: false, servers: upstream.servers.map(({ name }) => name) };
  const handle = withRoot(createConsoleHandler({ ...upstream, sessions, log, files, offers }));
  const https = createSameThreadHttpsServer({ handle, log, host, port, tls, limits: { ...LIMITS, ...limits } });
  return { https, closeUpstream: () => transport.close() };
}

/** Beside the console nothing is here. The address without a path leads to it. */
const withRoot =
  (console: ApiHandler): ApiHandler =>
  (request) =>
    console(request.path === '/' ? { ...request, path: '/ui' } : request);
