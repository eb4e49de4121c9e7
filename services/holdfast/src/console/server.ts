import type { HttpsLimits } from '@holdfast/apiserver/https';
import { createSameThreadHttpsServer, type SameThreadHttpsServer } from '@holdfast/apiserver/same-thread-https';
import type { ApiHandler } from '@holdfast/client';
import { createStreamingTransport, type StreamingTransportOptions } from '@holdfast/client/streaming';
import { placementPodOf } from '@holdfast/client/why';
import { createConsoleHandler, createUpstream, Files } from '@holdfast/console';
import { Sessions } from '@holdfast/console/sessions';
import type { Log } from '@holdfast/platform';
import { createSecret } from '../embedded/secret.ts';

export interface ConsoleServerDeps extends StreamingTransportOptions {
  /** `https://host:port` of the scheduler's status address; absent: nobody tells why pods wait. */
  readonly schedulerStatus?: string | undefined;
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
  const scheduler = deps.schedulerStatus === undefined ? undefined : connectScheduler(deps, deps.schedulerStatus);
  const handleApi = scheduler === undefined ? upstream.handle : withPlacement(upstream.handle, scheduler.handle);
  const sessions = new Sessions({ clock, secret: createSecret });
  const offers = { play: false, servers: upstream.servers.map(({ name }) => name) };
  const handle = withRoot(createConsoleHandler({ ...upstream, handle: handleApi, sessions, log, files, offers }));
  const https = createSameThreadHttpsServer({ handle, log, host, port, tls, limits: { ...LIMITS, ...limits } });
  const closeUpstream = async (): Promise<void> => {
    await Promise.all([transport.close(), scheduler?.close()]);
  };
  return { https, closeUpstream };
}

/** The scheduler asks the API about the token of the person, as an API server would. */
function connectScheduler(options: StreamingTransportOptions, address: string) {
  const transport = createStreamingTransport({ ...options, servers: [address] });
  return { handle: createUpstream(transport, []).handle, close: () => transport.close() };
}

/** Why a pod waits is asked of the scheduler, everything else of the API. */
const withPlacement =
  (api: ApiHandler, scheduler: ApiHandler): ApiHandler =>
  (request) =>
    request.method === 'GET' && placementPodOf(request.path) !== undefined ? scheduler(request) : api(request);

/** Beside the console nothing is here. The address without a path leads to it. */
const withRoot =
  (console: ApiHandler): ApiHandler =>
  (request) =>
    console(request.path === '/' ? { ...request, path: '/ui' } : request);
