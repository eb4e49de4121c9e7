import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { describeError, invariant, OperatorError, type Service } from '@holdfast/platform';
import { nodeHttp } from '@holdfast/platform/http';
import type { Cluster } from '../access.ts';
import type { ClusterOptions } from '../options.ts';
import { type ControlAnswer, type ControlDeps, handle } from './handling.ts';
import { Holdings, type HoldingsLimits } from './holdings.ts';
import { Problem } from './problem.ts';

export interface TestenvOptions extends Pick<ControlDeps, 'token' | 'onFailure'> {
  /** 0 takes a free one. */
  readonly port: number;
  readonly limits: HoldingsLimits;
  readonly startCluster: (options: ClusterOptions) => Promise<Cluster>;
}

export interface Testenv extends Service {
  /** `http://127.0.0.1:<port>`, once started. */
  readonly url: string;
}

const HOST = '127.0.0.1';
const BODY_BYTES_MAX = 1024 * 1024;
const CONNECTIONS_MAX = 256;
const RECEIVE_MS = 30_000;

/** The control endpoint: clusters for tests over HTTP and JSON. Programs of this machine reach it, with the token. */
export function createTestenv({ port, limits, startCluster, token, onFailure }: TestenvOptions): Testenv {
  const holdings = new Holdings({ limits, startCluster });
  const deps: ControlDeps = { holdings, token, onFailure, server: () => urlOf(server) };
  const server = nodeHttp().createServer({ requestTimeout: RECEIVE_MS }, (request, response) => {
    void serve(request, response, deps);
  });
  server.maxConnections = CONNECTIONS_MAX;
  return {
    name: 'testenv',
    get url() {
      return urlOf(server);
    },
    start: () => listen(server, port),
    stop: async () => {
      const closed = Promise.withResolvers<void>();
      server.close(() => closed.resolve());
      await holdings.close();
      server.closeAllConnections();
      await closed.promise;
    },
  };
}

function listen(server: Server, port: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.on('error', (cause) =>
    reject(
      new OperatorError({
        code: 'TestenvPort',
        message: `the control endpoint cannot listen on ${HOST}:${port}: ${describeError(cause)}`,
        nextStep: 'Choose another port with --port, or none to take a free one.',
        cause,
      }),
    ),
  );
  server.listen(port, HOST, resolve);
  return promise;
}

function urlOf(server: Server): string {
  const address = server.address();
  invariant(typeof address === 'object' && address !== null, 'the port of a server is known only after its start');
  return `http://${HOST}:${address.port}`;
}

async function serve(request: IncomingMessage, response: ServerResponse, deps: ControlDeps): Promise<void> {
  response.on('error', () => response.destroy());
  const { method = '', url = '', headers } = request;
  const asked = { method, url, authorization: headers.authorization, text: () => textOf(request) };
  write(response, await handle(asked, deps));
}

function write(response: ServerResponse, { status, content, headers }: ControlAnswer): void {
  const isEmpty = content === undefined;
  response.writeHead(status, { ...(isEmpty ? {} : { 'content-type': 'application/json' }), ...headers });
  response.end(isEmpty ? undefined : `${JSON.stringify(content)}\n`);
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  // The connection stays open after a body that is too large, so that the client receives the answer.
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    const buffer = Buffer.from(chunk);
    bytes += buffer.length;
    if (bytes > BODY_BYTES_MAX) {
      throw new Problem(413, `the body is larger than ${BODY_BYTES_MAX} bytes`, 'Send only the fields that you need.');
    }
    chunks.push(buffer);
  }
  return Buffer.concat(chunks).toString('utf8');
}
