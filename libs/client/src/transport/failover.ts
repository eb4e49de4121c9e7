import { type Clock, OperatorError } from '@holdfast/platform';
import { type ApiRequest, type ApiResponse, TransportError } from './port.ts';
import type { ServerPool } from './server-pool.ts';

export interface Failover {
  readonly pool: ServerPool;
  readonly clock: Clock;
  /** For all attempts together. */
  readonly deadlineMs: number;
  /** The caller has given up. */
  readonly isOver: () => boolean;
  readonly ask: (server: string, leftMs: number) => Promise<ApiResponse>;
}

/**
 * Asks one server after the other. A request moves on only when it is certain that nothing of it was sent, or when it
 * only reads: a write that may have arrived is never repeated.
 */
export async function askInOrder(request: ApiRequest, { pool, clock, deadlineMs, isOver, ask }: Failover) {
  const deadlineAt = clock.monotonic() + deadlineMs;
  const order = pool.order();
  // One attempt more than there are servers: a kept connection that the server just closed costs the first one.
  for (let attempt = 0; ; attempt++) {
    const server = order[attempt % order.length] ?? '';
    try {
      const response = await ask(server, deadlineAt - clock.monotonic());
      // A server that is not ready responds with 503. The caller gets that response; the next request uses another
      // server.
      if (response.status === 503) pool.failed(server);
      else pool.served(server);
      return response;
    } catch (error) {
      pool.failed(server);
      const last = attempt >= order.length || clock.monotonic() >= deadlineAt;
      if (last || isOver() || !mayRepeat(request, error)) throw error;
    }
  }
}

function mayRepeat(request: ApiRequest, error: unknown): boolean {
  return onlyReads(request) || (error instanceof TransportError && !error.possiblySent);
}

export const onlyReads = ({ method }: ApiRequest): boolean =>
  method === 'GET' || method === 'HEAD' || method === 'OPTIONS';

export function isWatch(request: ApiRequest): boolean {
  const watch = request.query.get('watch');
  return request.method === 'GET' && (watch === 'true' || watch === '1');
}

/** Throws for a list of servers that cannot be used. */
export function checkServers(servers: readonly string[]): void {
  for (const server of servers) requireHttps(server);
  if (servers.length === 0) throw noServers();
}

function requireHttps(server: string): void {
  if (URL.canParse(server) && new URL(server).protocol === 'https:') return;
  throw new OperatorError({
    code: 'ApiServerAddress',
    message: `${JSON.stringify(server)} is not the address of an API server`,
    nextStep: 'give addresses of the form https://host:port, separated by commas',
    exitCode: 2,
  });
}

function noServers(): OperatorError {
  return new OperatorError({
    code: 'ApiServerAddress',
    message: 'no API server is configured',
    nextStep: 'set HOLDFAST_API_SERVERS to at least one https://host:port',
    exitCode: 2,
  });
}
