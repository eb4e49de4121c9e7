import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { connect as connectHttp2, type IncomingHttpHeaders } from 'node:http2';
import { request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import type { ApiHandler, ApiResponse } from '@holdfast/client';
import { eventually } from '@holdfast/platform/contract';
import { joinValues } from '../http/header-values.ts';
import { HEADERS_MAX, HTTP1_UNANSWERED_MAX } from '../limits.ts';
import { host, serve, tls } from '../testing/https.ts';

const answered = (status = 200, headers: Readonly<Record<string, string>> = {}): ApiResponse => ({
  status,
  headers,
  body: { kind: 'empty' },
});

/** The status, or the code of what went wrong. */
function http1(port: number, path: string, body?: Buffer): Promise<number | string | undefined> {
  return new Promise((resolve) => {
    const type = body === undefined ? {} : { 'content-type': 'application/json' };
    const method = body === undefined ? 'GET' : 'POST';
    const request = httpsRequest({ host, port, path, method, ca: tls.certificate, headers: type, agent: false });
    request.on('response', (response) => resolve(response.resume().statusCode));
    request.on('error', (error) => resolve('code' in error ? String(error.code) : error.message));
    request.end(body);
  });
}

async function http2(port: number, path: string): Promise<number | string | undefined> {
  const session = connectHttp2(`https://${host}:${port}`, { ca: tls.certificate });
  try {
    return await new Promise((resolve) => {
      const stream = session.request({ ':path': path }).resume();
      stream.on('response', (headers) => resolve(headers[':status']));
      stream.on('error', (error) => resolve('code' in error ? String(error.code) : error.message));
      stream.on('close', () => resolve('closed'));
    });
  } finally {
    session.destroy();
  }
}

test('bodies of disconnected clients free their space', async (t) => {
  const body = Buffer.alloc(64 * 1024, '{');
  let left = 0;
  const handle: ApiHandler = async ({ path, signal }) => {
    if (path !== '/waits' || signal === undefined) return answered();
    const arrived = once(signal, 'abort');
    leave();
    await arrived;
    left += 1;
    return answered();
  };
  let leave = (): void => {};
  const port = await serve(t, handle, { bodyBytesInFlightMax: 3 * body.length });
  for (let client = 1; client <= 4; client++) {
    const request = httpsRequest({
      host,
      port,
      path: '/waits',
      method: 'POST',
      ca: tls.certificate,
      agent: false,
      headers: { 'content-type': 'application/json' },
    });
    request.on('error', () => {});
    leave = () => request.destroy();
    request.end(body);
    await eventually(() => left === client, `client ${client} has left`);
    assert.equal(await http1(port, '/', body), 200);
  }
});

test('an invalid status or header fails only its own answer', async (t) => {
  const port = await serve(t, async ({ path }) => {
    if (path === '/status') return answered(99);
    return path === '/header' ? answered(200, { warning: '\u65e5' }) : answered();
  });
  assert.equal(await http1(port, '/header'), 'ECONNRESET');
  assert.equal(await http2(port, '/status'), 'closed');
  assert.equal(await http1(port, '/'), 200);
});

test('a backend status that HTTP/2 does not allow becomes a bad gateway', async (t) => {
  const chunks = async function* () {
    yield Buffer.from('x');
  };
  const port = await serve(t, async ({ path }) => {
    const body = path === '/long' ? ({ kind: 'stream', chunks: chunks() } as const) : ({ kind: 'empty' } as const);
    return { status: 999, headers: {}, body };
  });
  for (const path of ['/long', '/short'])
    assert.deepEqual([await http1(port, path), await http2(port, path)], [999, 502]);
});

test('each cookie of a backend is its own header', async (t) => {
  const cookies = ['a=1; Expires=Wed, 21 Oct 2026 07:28:00 GMT', 'b=2'];
  const port = await serve(t, async () => answered(200, { 'set-cookie': joinValues(cookies) }));
  const request = httpsRequest({ host, port, ca: tls.certificate, agent: false }).end();
  const [answer] = (await once(request, 'response')) as [IncomingMessage];
  answer.resume();
  assert.deepEqual(answer.headers['set-cookie'], cookies);
  const session = connectHttp2(`https://${host}:${port}`, { ca: tls.certificate });
  t.after(() => session.destroy());
  const [headers] = (await once(session.request({ ':path': '/' }), 'response')) as [IncomingHttpHeaders];
  assert.deepEqual(headers['set-cookie'], cookies);
});

test('impersonation headers keep their number and their commas', async (t) => {
  const groups = ['cn=a,ou=b', 'c, d', ...Array.from({ length: 300 }, (_, index) => `group-${index}`)];
  const arrived: (string | undefined)[] = [];
  const port = await serve(t, async ({ headers }) => {
    arrived.push(headers['impersonate-group']);
    return answered();
  });
  const headers = { 'Impersonate-User': 'joe', 'Impersonate-Group': groups };
  const request = httpsRequest({ host, port, ca: tls.certificate, agent: false, headers }).end();
  const [answer] = (await once(request, 'response')) as [IncomingMessage];
  answer.resume();
  const session = connectHttp2(`https://${host}:${port}`, { ca: tls.certificate });
  t.after(() => session.destroy());
  await once(session.request({ ':path': '/', ...headers }).resume(), 'close');
  assert.deepEqual(arrived, [joinValues(groups), joinValues(groups)]);
});

test('a request with more headers than are read is refused over HTTP/1.1, with an upgrade as well', async (t) => {
  const arrived: (string | undefined)[] = [];
  const port = await serve(t, async ({ headers }) => {
    arrived.push(headers['impersonate-user']);
    return answered();
  });
  const status = async (count: number, lines: string): Promise<string> => {
    const client = connectTls({ host, port, ca: tls.certificate });
    t.after(() => client.destroy());
    const others = 'A: b\r\n'.repeat(count - lines.split('\r\n').length - 1);
    client.write(`GET / HTTP/1.1\r\n${lines}\r\n${others}Impersonate-User: joe\r\n\r\n`);
    const [first] = (await once(client, 'data')) as [Buffer];
    return first.toString().slice('HTTP/1.1 '.length, 'HTTP/1.1 200'.length);
  };
  const upgrade = 'Host: x\r\nConnection: upgrade\r\nUpgrade: other';
  for (const lines of ['Host: x', upgrade]) {
    assert.deepEqual([await status(HEADERS_MAX, lines), await status(HEADERS_MAX + 1, lines)], ['200', '431']);
    assert.equal(await status(5 * HEADERS_MAX, lines), '431');
  }
  assert.deepEqual(arrived, ['joe', 'joe']);
});

test('a request with more headers than are read reaches nobody over HTTP/2', async (t) => {
  let asked = 0;
  const port = await serve(t, async () => {
    asked += 1;
    return answered();
  });
  const statusWith = async (count: number): Promise<unknown> => {
    const session = connectHttp2(`https://${host}:${port}`, { ca: tls.certificate });
    t.after(() => session.destroy());
    session.on('error', () => {});
    const stream = session.request({ ':path': '/', 'impersonate-group': Array.from({ length: count }, () => 'g') });
    let status: unknown;
    stream.on('response', (headers) => (status = headers[':status'])).on('error', () => {});
    await new Promise((closed) => stream.resume().on('close', () => closed(undefined)));
    return status;
  };
  // Four more name the method, the path and the server.
  assert.deepEqual([await statusWith(HEADERS_MAX - 4), await statusWith(HEADERS_MAX - 3)], [200, undefined]);
  assert.equal(asked, 1);
});

test('a short answer that its client does not read is cut off', async (t) => {
  const answer: ApiResponse = {
    status: 200,
    headers: {},
    body: { kind: 'json', bytes: () => Buffer.from('1'), value: () => 1 },
  };
  const port = await serve(t, async () => answer, { writeStallMs: 100 });
  const session = connectHttp2(`https://${host}:${port}`, { ca: tls.certificate, settings: { initialWindowSize: 0 } });
  t.after(() => session.destroy());
  let isClosed = false;
  const stream = session.request({ ':path': '/' });
  stream.on('error', () => {}).on('close', () => (isClosed = true));
  await eventually(() => isClosed, 'the answer is cut off');
});

test('a client that sends without end and ignores answers is disconnected', async (t) => {
  let asked = 0;
  const waits = Promise.withResolvers<ApiResponse>();
  t.after(() => waits.resolve(answered()));
  const port = await serve(t, () => {
    asked += 1;
    return waits.promise;
  });
  const client = connectTls({ host, port, ca: tls.certificate });
  client.on('error', () => client.destroy());
  client.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(10 * HTTP1_UNANSWERED_MAX));
  await eventually(() => client.destroyed, 'the connection is closed');
  waits.resolve(answered());
  assert.equal(await http1(port, '/'), 200);
  assert.equal(asked, HTTP1_UNANSWERED_MAX + 1);
});

test('an invalid media type is passed on to the negotiation', async (t) => {
  const port = await serve(t, async ({ headers }) =>
    answered(headers['content-type'] === 'application/json' ? 200 : 415),
  );
  const post = (type: string): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      const headers = { 'content-type': type };
      const request = httpsRequest({ host, port, method: 'POST', ca: tls.certificate, headers, agent: false });
      request.on('response', (response) => resolve(response.resume().statusCode));
      request.on('error', reject);
      request.end('{}');
    });
  assert.deepEqual([await post('foo'), await post('foo/'), await post('application/json')], [415, 415, 200]);
});

function isClosed(connection: Socket): boolean {
  if (!connection.destroyed) connection.write('x');
  return connection.destroyed;
}

test('an answer with another protocol for which no client asked ends the connection behind it', async (t) => {
  let hasEnded = false;
  const port = await serve(t, async () => ({
    ...answered(101),
    upgrade: (connection) => void connection.once('close', () => (hasEnded = true)),
  }));
  assert.equal(await http1(port, '/'), 'ECONNRESET');
  await eventually(() => hasEnded, 'the connection behind it has ended');
});

test('a client whose upgrade was refused and that keeps its half of the connection is disconnected', async (t) => {
  const port = await serve(t, async () => answered(403));
  const options = { host, port, ca: tls.certificate, allowHalfOpen: true };
  const half = connectTls(options);
  t.after(() => half.destroy());
  half.on('error', () => half.destroy());
  half.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: other\r\n\r\n');
  const [first] = (await once(half, 'data')) as [Buffer];
  assert.match(first.toString(), /^HTTP\/1.1 403/);
  // The sender learns that nobody reads any more.
  await eventually(() => isClosed(half), 'the connection is closed');
});

test('a failed thread ends the process with a next step for the operator', async (t) => {
  const program = `
    import { createSilentLog, OperatorError } from '@holdfast/platform';
    import { createHttpsServer } from '${new URL('./index.ts', import.meta.url).href}';
    process.on('uncaughtException', (error) => {
      console.log(error instanceof OperatorError, error.message, error.nextStep);
      process.exit(3);
    });
    const tls = { certificate: 'none', key: 'none' };
    const https = createHttpsServer({ handle: () => {}, log: createSilentLog(), host: '127.0.0.1', port: 0, tls });
    await https.start();`;
  const flags = ['--input-type=module-typescript', '--disable-warning=ExperimentalWarning', '-e', program];
  const child = spawn(process.execPath, flags, { cwd: import.meta.dirname, stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const [code] = await once(child, 'close');
  assert.equal(code, 3);
  assert.match(output, /^true The thread of the HTTPS server has failed: .+ Start it again/);
});
