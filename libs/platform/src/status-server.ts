import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from 'node:http';
import { isIP } from 'node:net';
import { describeError, OperatorError } from './errors.ts';
import { nodeHttp, nodeHttps } from './http.ts';
import type { Service } from './lifecycle.ts';
import type { TlsPair } from './served-pair.ts';
import { badSetting } from './setting-kinds.ts';

export interface StatusAnswer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

export interface StatusServerOptions {
  /** The component that the server reports on. */
  readonly component: string;
  /** host:port */
  readonly address: string;
  /**
   * PEM texts. Without them the server uses HTTP and listens on loopback only: tokens must not cross a network in the
   * clear.
   */
  readonly tls?: TlsPair | undefined;
  /** The settings that name these files, for error messages. */
  readonly tlsSettings?: string;
  answer(path: string, headers: IncomingHttpHeaders): StatusAnswer | Promise<StatusAnswer>;
}

export interface StatusServer extends Service {
  /** Known once the server listens. */
  readonly port: number;
  /** Another certificate, for new connections of a server that has one. */
  readonly renew: (pair: TlsPair) => void;
}

/** Serves health and metrics of a component. */
export function createStatusServer(options: StatusServerOptions): StatusServer {
  const { host, port } = parseAddress(options);
  if (options.tls === undefined) refuseOpenAddress(host, options);
  let server: Server | undefined;
  return {
    name: `status server of the ${options.component}`,
    get port() {
      const bound = server?.address();
      return typeof bound === 'object' && bound !== null ? bound.port : port;
    },
    renew: (pair) => {
      if (server instanceof nodeHttps().Server) server.setSecureContext(contextOf(pair));
    },
    start: async () => {
      const listening = Promise.withResolvers<void>();
      server = createFor(options);
      server.on('error', (error) => listening.reject(notListening(options, error)));
      server.listen(port, host, listening.resolve);
      await listening.promise;
    },
    stop: async () => {
      if (server?.listening !== true) return;
      const closed = Promise.withResolvers<void>();
      server.close(() => closed.resolve());
      server.closeAllConnections();
      await closed.promise;
    },
  };
}

export const statusText = (status: number, body: string): StatusAnswer => ({
  status,
  type: 'text/plain; charset=utf-8',
  body: `${body}\n`,
});

export const metricsAnswer = (body: string): StatusAnswer => ({
  status: 200,
  type: 'text/plain; version=0.0.4; charset=utf-8',
  body,
});

function createFor(options: StatusServerOptions): Server {
  const answer = (request: IncomingMessage, response: ServerResponse): void => void serve(request, response, options);
  const { tls } = options;
  if (tls === undefined) return nodeHttp().createServer(answer);
  return nodeHttps().createServer(contextOf(tls), answer);
}

const contextOf = ({ certificate, key }: TlsPair) => ({ cert: certificate, key, minVersion: 'TLSv1.2' as const });

async function serve(
  { url = '/', headers }: IncomingMessage,
  response: ServerResponse,
  options: StatusServerOptions,
): Promise<void> {
  const [path = ''] = url.split('?', 1);
  const { status, type, body } = await answerTo(path, headers, options);
  try {
    response.writeHead(status, { 'content-type': type }).end(body);
  } catch {
    // A response that cannot be written closes its connection. The component continues.
    response.destroy();
  }
}

/** Errors go to the client: a failed response must not end the component. */
async function answerTo(
  path: string,
  headers: IncomingHttpHeaders,
  options: StatusServerOptions,
): Promise<StatusAnswer> {
  try {
    return await options.answer(path, headers);
  } catch (error) {
    return statusText(500, describeError(error));
  }
}

function parseAddress({ address, component }: StatusServerOptions): { readonly host: string; readonly port: number } {
  const match = /^(?:\[?([^\]]*?)\]?:)?(\d{1,5})$/.exec(address);
  const port = Number(match?.[2]);
  if (match !== null && port <= 65_535) {
    const host = match[1] ?? '';
    return { host: host === '' ? '127.0.0.1' : host, port };
  }
  throw badSetting(
    `the status address of the ${component} has the form host:port, not "${address}"`,
    'For example 127.0.0.1:10259.',
  );
}

/** True for hosts that only programs of this machine reach. */
export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));

function refuseOpenAddress(host: string, { component, tlsSettings }: StatusServerOptions): void {
  if (isLoopback(host)) return;
  const ownAddress = 'an address of this machine such as 127.0.0.1';
  throw badSetting(
    `the status address ${host} of the ${component} is reachable from other machines, and without a certificate the traffic would not be encrypted`,
    tlsSettings === undefined ? `Give ${ownAddress}.` : `Give ${tlsSettings}, or ${ownAddress}.`,
  );
}

const notListening = ({ component, address }: StatusServerOptions, cause: unknown): OperatorError =>
  new OperatorError({
    code: 'StatusAddress',
    message: `the status address ${address} of the ${component} cannot be served: ${describeError(cause)}`,
    nextStep: 'Give an address of this machine and a free port.',
    cause,
  });

export interface HealthSource {
  /** In Prometheus text format. */
  metrics(): string;
  isReady(): boolean;
}

export interface HealthServerOptions extends Pick<StatusServerOptions, 'component' | 'address'> {
  readonly source: HealthSource;
  /** What /readyz says before the component is ready. */
  readonly unready: string;
}

/** Serves health and metrics of a component to programs of this machine. Read-only. */
export const createHealthServer = ({ component, address, source, unready }: HealthServerOptions): StatusServer =>
  createStatusServer({ component, address, answer: (path) => healthAnswer(path, source, unready) });

function healthAnswer(path: string, source: HealthSource, unready: string): StatusAnswer {
  switch (path) {
    case '/metrics':
      return metricsAnswer(source.metrics());
    case '/healthz':
    case '/livez':
      return statusText(200, 'ok');
    case '/readyz':
      return source.isReady() ? statusText(200, 'ok') : statusText(503, unready);
    default:
      return statusText(404, 'there are /metrics, /healthz, /livez and /readyz');
  }
}
