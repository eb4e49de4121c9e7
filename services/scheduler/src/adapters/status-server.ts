import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { isIP } from 'node:net';
import { describeError, OperatorError, type Service } from '@holdfast/platform';
import { nodeHttp, nodeHttps } from '@holdfast/platform/http';
import type { CacheComparison } from './cache-comparer.ts';
import type { StatusAccess } from './status-access.ts';

export interface StatusSource {
  metrics(): string;
  isReady(): boolean;
  compareCache(): Promise<CacheComparison>;
}

export interface StatusServerDeps {
  readonly address: string;
  readonly source: StatusSource;
  /** Who may read what is not open to all. */
  readonly access: StatusAccess;
  /** PEM texts. Without them HTTP is served, to this machine only: tokens must not cross a network in the clear. */
  readonly tls?: { readonly certificate: string; readonly key: string } | undefined;
}

export interface StatusServer extends Service {
  /** Known once it listens. */
  readonly port: number;
}

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

/** Tells machines how the scheduler does, and who may know it what it does. Reads only. */
export function createStatusServer(deps: StatusServerDeps): StatusServer {
  const { host, port } = parseAddress(deps.address);
  if (deps.tls === undefined) refuseOpenAddress(host);
  let server: Server | undefined;
  return {
    name: 'status server of the scheduler',
    get port() {
      const bound = server?.address();
      return typeof bound === 'object' && bound !== null ? bound.port : port;
    },
    start: async () => {
      const listening = Promise.withResolvers<void>();
      server = createFor(deps);
      server.once('error', listening.reject);
      server.listen(port, host, listening.resolve);
      await listening.promise;
    },
    stop: async () => {
      const closed = Promise.withResolvers<void>();
      if (server === undefined) return;
      server.close(() => closed.resolve());
      server.closeAllConnections();
      await closed.promise;
    },
  };
}

function createFor(deps: StatusServerDeps): Server {
  const answer = (request: IncomingMessage, response: ServerResponse): void => void serve(request, response, deps);
  const { tls } = deps;
  if (tls === undefined) return nodeHttp().createServer(answer);
  return nodeHttps().createServer({ cert: tls.certificate, key: tls.key, minVersion: 'TLSv1.2' }, answer);
}

async function serve(request: IncomingMessage, response: ServerResponse, deps: StatusServerDeps): Promise<void> {
  const { status, type, body } = await answerTo(request, deps);
  response.writeHead(status, { 'content-type': type }).end(body);
}

async function answerTo(
  { url = '/', headers }: IncomingMessage,
  { source, access }: StatusServerDeps,
): Promise<Answer> {
  const [path = ''] = url.split('?', 1);
  switch (path) {
    case '/metrics':
      return (await refusalOf(path, access, headers.authorization)) ?? metricsOf(source);
    case '/healthz':
    case '/livez':
      return text(200, 'ok');
    case '/readyz':
      return source.isReady() ? text(200, 'ok') : text(503, 'the first lists are not complete');
    case '/debug/cache':
      return (await refusalOf(path, access, headers.authorization)) ?? compared(source);
    default:
      return text(404, 'there are /metrics, /healthz, /livez, /readyz and /debug/cache');
  }
}

async function refusalOf(
  path: string,
  access: StatusAccess,
  authorization: string | undefined,
): Promise<Answer | undefined> {
  try {
    const verdict = await access(path, authorization);
    if (verdict === 'allowed') return undefined;
    return verdict === 'forbidden' ? text(403, `forbidden: you cannot get path "${path}"`) : text(401, 'Unauthorized');
  } catch (error) {
    return text(503, `the API could not be asked who you are: ${describeError(error)}`);
  }
}

const metricsOf = (source: StatusSource): Answer => ({
  status: 200,
  type: 'text/plain; version=0.0.4; charset=utf-8',
  body: source.metrics(),
});

async function compared(source: StatusSource): Promise<Answer> {
  try {
    const body = `${JSON.stringify(await source.compareCache(), undefined, 2)}\n`;
    return { status: 200, type: 'application/json', body };
  } catch (error) {
    return text(503, `the API could not be asked: ${describeError(error)}`);
  }
}

const text = (status: number, body: string): Answer => ({
  status,
  type: 'text/plain; charset=utf-8',
  body: `${body}\n`,
});

function parseAddress(address: string): { readonly host: string; readonly port: number } {
  const match = /^(?:\[?([^\]]*?)\]?:)?(\d{1,5})$/.exec(address);
  const port = Number(match?.[2]);
  if (match !== null && port <= 65_535) {
    const host = match[1] ?? '';
    return { host: host === '' ? '127.0.0.1' : host, port };
  }
  throw new OperatorError({
    code: 'BadSetting',
    message: `the status address of the scheduler has the form host:port, not "${address}"`,
    nextStep: 'For example 127.0.0.1:10251.',
    exitCode: 2,
  });
}

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));

function refuseOpenAddress(host: string): void {
  if (isLoopback(host)) return;
  throw new OperatorError({
    code: 'BadSetting',
    message: `--status-address ${host} is seen by other machines, and without a certificate their tokens would cross the network in the clear`,
    nextStep: 'Give --status-tls-cert-file and --status-tls-key-file, or an address of this machine such as 127.0.0.1.',
    exitCode: 2,
  });
}
