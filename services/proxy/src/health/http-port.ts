import type { Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { nodeHttp } from '@holdfast/platform/http';
import { HEALTH_CONNECTIONS_MAX, HEALTH_REQUEST_MS } from '../limits.ts';

export interface HttpAnswer {
  readonly status: number;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface HttpPort {
  readonly port: number;
  close(): Promise<void>;
}

/**
 * Answers GET requests of load balancers and probes, which come from other machines without TLS or credentials. An
 * absent host means all addresses. Rejects with the error of the system.
 */
export async function openHttpPort(
  { host, port }: { readonly host?: string | undefined; readonly port: number },
  answer: (path: string) => HttpAnswer,
): Promise<HttpPort> {
  const server = nodeHttp().createServer({ requestTimeout: HEALTH_REQUEST_MS }, ({ url = '/' }, response) => {
    const [path = ''] = url.split('?', 1);
    send(response, answer(path));
  });
  server.maxConnections = HEALTH_CONNECTIONS_MAX;
  await listening(server, { host, port });
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function send(response: ServerResponse, { status, body, headers }: HttpAnswer): void {
  response.writeHead(status, { ...headers, 'x-content-type-options': 'nosniff' }).end(body);
}

function listening(
  server: Server,
  { host, port }: { readonly host?: string | undefined; readonly port: number },
): Promise<void> {
  return new Promise((resolve, reject) => {
    server.on('error', reject);
    server.listen({ port, ...(host === undefined ? {} : { host }) }, resolve);
  });
}

export const JSON_TYPE = { 'content-type': 'application/json' } as const;
