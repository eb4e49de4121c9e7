import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { describeError, OperatorError, type Service } from '@holdfast/platform';
import type { CacheComparison } from './cache-comparer.ts';

export interface StatusSource {
  metrics(): string;
  isReady(): boolean;
  compareCache(): Promise<CacheComparison>;
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

/** Tells machines and people how the scheduler does. Reads only. */
export function createStatusServer(address: string, source: StatusSource): StatusServer {
  const { host, port } = parseAddress(address);
  let server: Server | undefined;
  return {
    name: 'status server of the scheduler',
    get port() {
      const bound = server?.address();
      return typeof bound === 'object' && bound !== null ? bound.port : port;
    },
    start: async () => {
      const { createServer } = await import('node:http');
      const listening = Promise.withResolvers<void>();
      server = createServer((request, response) => void serve(request, response, source));
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

async function serve(request: IncomingMessage, response: ServerResponse, source: StatusSource): Promise<void> {
  const { status, type, body } = await answerTo(request.url ?? '/', source);
  response.writeHead(status, { 'content-type': type }).end(body);
}

async function answerTo(url: string, source: StatusSource): Promise<Answer> {
  const [path = ''] = url.split('?', 1);
  switch (path) {
    case '/metrics':
      return { status: 200, type: 'text/plain; version=0.0.4; charset=utf-8', body: source.metrics() };
    case '/healthz':
    case '/livez':
      return text(200, 'ok');
    case '/readyz':
      return source.isReady() ? text(200, 'ok') : text(503, 'the first lists are not complete');
    case '/debug/cache':
      return compared(source);
    default:
      return text(404, 'there are /metrics, /healthz, /livez, /readyz and /debug/cache');
  }
}

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
    message: `--status-address takes host:port, not "${address}"`,
    nextStep: 'For example --status-address=127.0.0.1:10251.',
    exitCode: 2,
  });
}
