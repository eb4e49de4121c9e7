import { once } from 'node:events';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { createServer, request as httpsRequest } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { createTestCertificate } from '@holdfast/client/testing';
import { Files } from '@holdfast/console';
import { type Clock, createSilentLog } from '@holdfast/platform';
import { type ConsoleServerDeps, createConsoleServer } from './server.ts';

const certificate = createTestCertificate();
const tls = { certificate: certificate.certPem, key: certificate.keyPem };

/** What an API server was asked: `GET /api/v1/pods?watch=1`. */
export type Route = (incoming: IncomingMessage, outgoing: ServerResponse) => void;

export interface FakeServer extends AsyncDisposable {
  readonly url: string;
  readonly asked: IncomingMessage[];
  /** Connections that asked for another protocol, after the answer 101. */
  readonly upgraded: Duplex[];
  stop(): Promise<void>;
}

const json = (outgoing: ServerResponse, status: number, value: unknown): void => {
  outgoing.writeHead(status, { 'content-type': 'application/json' });
  outgoing.end(JSON.stringify(value));
};

/** An API server that knows the token `good`; `route` answers what is asked beside the sign-in. */
export async function startFakeServer(route: Route): Promise<FakeServer> {
  const asked: IncomingMessage[] = [];
  const upgraded: Duplex[] = [];
  const sockets = new Set<Duplex>();
  const listener: RequestListener = (incoming, outgoing) => {
    asked.push(incoming);
    if (!incoming.url?.includes('selfsubjectreviews')) return route(incoming, outgoing);
    const isKnown = incoming.headers.authorization === 'Bearer good';
    const groups = [isKnown ? 'system:authenticated' : 'system:unauthenticated'];
    json(outgoing, 201, { status: { userInfo: { username: 'admin', groups } } });
  };
  const server = createServer({ cert: tls.certificate, key: tls.key }, listener);
  server.on('connection', (socket) => sockets.add(socket));
  server.on('upgrade', (incoming, socket: Duplex) => {
    asked.push(incoming);
    upgraded.push(socket);
    socket.on('error', () => socket.destroy());
    socket.write('HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\n\r\n');
    socket.pipe(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const stop = async (): Promise<void> => {
    const closed = server.listening ? once(server, 'close') : undefined;
    server.close();
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, asked, upgraded, stop, [Symbol.asyncDispose]: stop };
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
}

export interface TestConsole extends AsyncDisposable {
  readonly origin: string;
  /** The headers of a page that has signed in. */
  signIn(): Promise<Record<string, string>>;
  /** The whole answer. */
  call(method: string, path: string, headers?: Record<string, string>, body?: string): Promise<Answer>;
  /** An answer of which the caller reads the body. */
  open(path: string, headers: Record<string, string>): Promise<IncomingMessage>;
  /** A connection that has changed its protocol, or the status of the refusal. */
  upgrade(path: string, headers: Record<string, string>): Promise<Duplex | number>;
}

export async function startTestConsole(
  servers: readonly FakeServer[],
  deps: Partial<ConsoleServerDeps> & { readonly clock: Clock },
): Promise<TestConsole> {
  const page = { name: 'index.html', bytes: Buffer.from('<!doctype html>') };
  const { https, closeUpstream } = await createConsoleServer({
    servers: servers.map(({ url }) => url),
    caPem: certificate.certPem,
    tls,
    host: '127.0.0.1',
    port: 0,
    log: createSilentLog(),
    files: new Files(async () => [page]),
    ...deps,
  });
  await https.start();
  const origin = `https://127.0.0.1:${https.address().port}`;
  const send = (method: string, path: string, headers: Record<string, string>) =>
    httpsRequest(`${origin}${path}`, { method, headers, ca: certificate.certPem, agent: false });
  const call: TestConsole['call'] = async (method, path, headers = {}, body) => {
    const sent = send(method, path, headers);
    sent.end(body);
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    let text = '';
    for await (const chunk of answer) text += String(chunk);
    return { status: answer.statusCode ?? 0, headers: answer.headers, text };
  };
  const own = { origin, 'sec-fetch-site': 'same-origin' };
  return {
    origin,
    call,
    signIn: async () => {
      const asking = { ...own, 'x-holdfast-console': 'sign-in', 'content-type': 'application/json' };
      const { headers, text } = await call('POST', '/ui/session', asking, JSON.stringify({ token: 'good' }));
      const cookie = (headers['set-cookie']?.[0] ?? '').split(';')[0] ?? '';
      return { ...own, cookie, 'x-holdfast-console': (JSON.parse(text) as { guard: string }).guard };
    },
    open: async (path, headers) => {
      const sent = send('GET', path, headers);
      sent.end();
      const [answer] = (await once(sent, 'response')) as [IncomingMessage];
      return answer;
    },
    upgrade: (path, headers) => {
      const sent = send('GET', path, { ...headers, connection: 'Upgrade', upgrade: 'websocket' });
      const { promise, resolve, reject } = Promise.withResolvers<Duplex | number>();
      sent.on('upgrade', (_answer, socket) => resolve(socket));
      sent.on('response', (answer) => resolve(answer.statusCode ?? 0));
      sent.on('error', reject);
      sent.end();
      return promise;
    },
    [Symbol.asyncDispose]: async () => {
      await https.stop();
      await closeUpstream();
    },
  };
}
