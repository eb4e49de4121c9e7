import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import type { ApiHandler, ApiResponse, HttpMethod } from '../transport/port.ts';

export interface TestServer {
  readonly url: string;
  readonly caPem: string;
  /** Breaks every open connection. */
  dropConnections(): void;
  close(): Promise<void>;
}

export interface TestCertificate {
  readonly certPem: string;
  readonly keyPem: string;
}

/** A self-signed certificate for 127.0.0.1. */
export function createTestCertificate(): TestCertificate {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-tls-'));
  const keyPath = join(folder, 'key.pem');
  const certPath = join(folder, 'cert.pem');
  const request = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  const names = ['-subj', '/CN=test', '-addext', 'subjectAltName=IP:127.0.0.1'];
  try {
    execFileSync('openssl', [...request, ...names, '-keyout', keyPath, '-out', certPath], { stdio: 'pipe' });
    return { certPem: readFileSync(certPath, 'utf8'), keyPem: readFileSync(keyPath, 'utf8') };
  } catch (error) {
    throw new Error('the openssl program is needed for this test: install the package openssl', { cause: error });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Serves an `ApiHandler` over TLS on a free port of 127.0.0.1, with just enough HTTP to test the client. */
export async function startTestServer(
  handler: ApiHandler,
  certificate: TestCertificate,
  port = 0,
): Promise<TestServer> {
  const sockets = new Set<Duplex>();
  const server = createServer({ cert: certificate.certPem, key: certificate.keyPem }, (incoming, outgoing) => {
    serve(handler, incoming, outgoing).catch((error: unknown) => outgoing.destroy(error as Error));
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const dropConnections = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    caPem: certificate.certPem,
    dropConnections,
    close: () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      dropConnections();
      return closed;
    },
  };
}

async function serve(handler: ApiHandler, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const url = new URL(incoming.url ?? '/', 'https://test');
  const gone = new AbortController();
  outgoing.on('close', () => gone.abort());
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(Buffer.from(chunk as Uint8Array));
  const response = await handler({
    method: incoming.method as HttpMethod,
    path: decodeURIComponent(url.pathname),
    query: url.searchParams,
    headers: Object.fromEntries(Object.entries(incoming.headers).map(([k, v]) => [k, String(v)])),
    body: Buffer.concat(chunks),
    signal: gone.signal,
  });
  await reply(response, outgoing, gone.signal);
}

async function reply(response: ApiResponse, outgoing: ServerResponse, gone: AbortSignal): Promise<void> {
  const { body } = response;
  const contentType = body.kind === 'text' ? body.contentType : 'application/json';
  const { 'content-type': own = contentType } = body.kind === 'stream' ? response.headers : {};
  outgoing.writeHead(response.status, { ...response.headers, 'content-type': own });
  if (body.kind === 'text') outgoing.end(body.text);
  else if (body.kind === 'json') outgoing.end(body.bytes());
  else if (body.kind === 'empty') outgoing.end();
  else {
    outgoing.flushHeaders();
    for await (const chunk of body.kind === 'watch' ? body.frames : body.chunks) {
      if (gone.aborted) break;
      outgoing.write(chunk instanceof Uint8Array ? chunk : chunk.bytes());
    }
    outgoing.end();
  }
}
