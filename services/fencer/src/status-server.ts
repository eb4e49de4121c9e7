import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { OperatorError, type Service } from '@holdfast/platform';
import { nodeHttp } from '@holdfast/platform/http';

export interface StatusSource {
  metrics(): string;
  isReady(): boolean;
}

export interface StatusServer extends Service {
  /** Known once it listens. */
  readonly port: number;
}

/** Tells programs of this machine how the fencer does. Reads only. */
export function createStatusServer(address: string, source: StatusSource): StatusServer {
  const { host, port } = parseAddress(address);
  let server: Server | undefined;
  return {
    name: 'status server of the fencer',
    get port() {
      const bound = server?.address();
      return typeof bound === 'object' && bound !== null ? bound.port : port;
    },
    start: async () => {
      const listening = Promise.withResolvers<void>();
      server = nodeHttp().createServer((request, response) => serve(request, response, source));
      server.once('error', listening.reject);
      server.listen(port, host, listening.resolve);
      await listening.promise;
    },
    stop: async () => {
      if (server === undefined) return;
      const closed = Promise.withResolvers<void>();
      server.close(() => closed.resolve());
      server.closeAllConnections();
      await closed.promise;
    },
  };
}

function serve({ url = '/' }: IncomingMessage, response: ServerResponse, source: StatusSource): void {
  const [path = ''] = url.split('?', 1);
  const answer = (status: number, body: string): void =>
    void response.writeHead(status, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }).end(body);
  if (path === '/metrics') answer(200, source.metrics());
  else if (path === '/healthz' || path === '/livez') answer(200, 'ok\n');
  else if (path === '/readyz')
    answer(source.isReady() ? 200 : 503, source.isReady() ? 'ok\n' : 'the nodes are not read yet\n');
  else answer(404, 'there are /metrics, /healthz, /livez and /readyz\n');
}

const LOOPBACK = /^(127\.\d+\.\d+\.\d+|localhost|::1)$/;

function parseAddress(address: string): { readonly host: string; readonly port: number } {
  const match = /^(?:\[?([^\]]*?)\]?:)?(\d{1,5})$/.exec(address);
  const host = match?.[1] || '127.0.0.1';
  const port = Number(match?.[2]);
  if (match !== null && port <= 65_535 && LOOPBACK.test(host)) return { host, port };
  throw new OperatorError({
    code: 'BadSetting',
    message: `--status-address takes host:port of this machine only, not "${address}"`,
    nextStep: 'For example --status-address=127.0.0.1:10260.',
    exitCode: 2,
  });
}
