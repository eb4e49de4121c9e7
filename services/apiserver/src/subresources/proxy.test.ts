import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { Duplex } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { partsOf } from '../http/header-values.ts';
import { startTestApi, type TestApi } from '../testing/fixture.ts';

const DEFAULT = '/api/v1/namespaces/default';

/** Echoes its request; redirects `/old`. */
async function startProgram(t: TestContext): Promise<number> {
  const server = createServer((request, response) => {
    const { host = '', 'x-forwarded-for': chain = '' } = request.headers;
    if (request.url === '/headers') return response.end(Object.keys(request.headers).toSorted().join(' '));
    if (request.url === '/old') response.writeHead(302, { location: '/new' });
    if (request.url === '/offer')
      response.setHeaders(
        new Map([
          ['upgrade', 'h2c'],
          ['trailer', 'x-sum'],
          ['x-own', 'a'],
        ]),
      );
    if (request.url === '/login') response.setHeader('set-cookie', ['a=1', 'b=2']);
    return response.end(`${request.method} ${request.url} of ${host} for ${String(chain)}`);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  return address.port;
}

async function makePod(api: TestApi, at: string, name: string): Promise<void> {
  const containers = [{ name: 'a', image: 'i' }];
  const nodeName = 'own';
  await api.call('POST', `${at}/pods`, {
    body: { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec: { containers, nodeName } },
  });
  const status = { podIP: '127.0.0.1', podIPs: [{ ip: '127.0.0.1' }] };
  const headers = { 'content-type': 'application/merge-patch+json' };
  await api.call('PATCH', `${at}/pods/${name}/status`, { headers, body: { status } });
}

const nobody = () => Promise.reject(new Error('no kubelet'));

/** The pods of its node `own` have addresses of this machine. */
async function startApi(t: TestContext): Promise<TestApi> {
  const api = await startTestApi({ nodes: () => ({ request: nobody, sharesMachine: (node) => node === 'own' }) });
  t.after(() => api.stop());
  return api;
}

async function textOf(api: TestApi, path: string, headers: Record<string, string> = {}): Promise<string> {
  const { raw } = await api.call('GET', path, { headers });
  if (raw.body.kind !== 'stream') return raw.body.kind;
  const chunks: Uint8Array[] = [];
  for await (const chunk of raw.body.chunks) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

test('a proxy forwards the request, whatever the names of pod and namespace begin with', async (t) => {
  const port = await startProgram(t);
  const api = await startApi(t);
  const at = '/api/v1/namespaces/proxy';
  await api.call('POST', '/api/v1/namespaces', {
    body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'proxy' } },
  });
  await makePod(api, at, 'proxy-a');
  const base = `${at}/pods/proxy-a:${port}/proxy`;
  const headers = { host: 'api:6443', 'x-forwarded-for': '10.1.1.1' };
  assert.equal(
    await textOf(api, `${base}/proxy/a#c d?d=e%20f`, headers),
    'GET /proxy/a%23c%20d?d=e%20f of api:6443 for 10.1.1.1',
  );
  assert.equal(await textOf(api, `${base}/`), `GET / of 127.0.0.1:${port} for `);
  assert.equal((await api.call('GET', `${base}/old`)).headers['location'], `${base}/new`);
  const { headers: told } = await api.call('GET', `${base}/login`);
  assert.deepEqual(partsOf('set-cookie', told['set-cookie'] ?? ''), ['a=1', 'b=2']);
  const { headers: offered } = await api.call('GET', `${base}/offer`);
  assert.deepEqual([offered['upgrade'], offered['trailer'], offered['x-own']], [undefined, undefined, 'a']);
});

test('connection headers of a client are not forwarded by the proxy', async (t) => {
  const port = await startProgram(t);
  const api = await startApi(t);
  await makePod(api, DEFAULT, 'web');
  const headers = { connection: 'close, X-Hop', 'x-hop': 'a', 'x-own': 'b' };
  assert.equal(
    await textOf(api, `${DEFAULT}/pods/web:${port}/proxy/headers`, headers),
    'connection host x-forwarded-uri x-own',
  );
});

test('only a read is redirected to a path behind the proxy, once a backend exists', async (t) => {
  const port = await startProgram(t);
  const api = await startApi(t);
  await makePod(api, DEFAULT, 'web');
  const base = `${DEFAULT}/pods/web:${port}/proxy`;
  const led = await api.call('GET', `${base}?a=1`);
  assert.equal(led.status, 301);
  assert.equal(led.headers['location'], `${base}/?a=1`);
  assert.equal((await api.call('HEAD', base)).status, 301);
  assert.equal((await api.call('POST', base, { body: {} })).status, 200);
  assert.equal((await api.call('GET', `${DEFAULT}/pods/none/proxy`)).status, 404);
});

test('a proxy that reaches no backend reports the reason', async (t) => {
  const api = await startApi(t);
  await makePod(api, DEFAULT, 'web');
  const ports = [{ name: 'http', port: 80 }];
  await api.call('POST', `${DEFAULT}/services`, {
    body: { apiVersion: 'v1', kind: 'Service', metadata: { name: 's' }, spec: { ports } },
  });
  await api.call('POST', `${DEFAULT}/endpoints`, {
    body: { apiVersion: 'v1', kind: 'Endpoints', metadata: { name: 's' } },
  });
  const refused: readonly (readonly [string, number, string])[] = [
    ['pods/web:1/proxy/', 503, 'error trying to reach service: dial tcp 127.0.0.1:1: connect: connection refused'],
    ['pods/ftp:web:1/proxy/', 400, 'invalid pod request "ftp:web:1"'],
    ['services/s:81/proxy/', 503, 'no service port 81 found for service "s"'],
    ['services/s:http/proxy/', 503, 'no endpoints available for service "s"'],
    ['services/none:80/proxy/', 404, 'services "none" not found'],
    ['services/none/proxy/', 404, 'endpoints "none" not found'],
  ];
  for (const [path, status, message] of refused) {
    const answer = await api.call('GET', `${DEFAULT}/${path}`);
    assert.equal(answer.textAt('message'), message);
    assert.equal(answer.status, status, path);
    assert.equal(answer.at('details.retryAfterSeconds'), undefined);
  }
  const upgrade = { connection: 'upgrade', upgrade: 'websocket' };
  const { status, body } = await api.call('GET', `${DEFAULT}/pods/web:1/proxy/`, { headers: upgrade });
  assert.equal(status, 500);
  assert.equal(
    (body as { message: string }).message,
    'error dialing backend: dial tcp 127.0.0.1:1: connect: connection refused',
  );
});

test('[CVE-2020-8562] loopback addresses are reached only for pods of local nodes, not from user-written addresses', async (t) => {
  const port = await startProgram(t);
  const api = await startApi(t);
  await makePod(api, DEFAULT, 'own');
  assert.match(await textOf(api, `${DEFAULT}/pods/own:${port}/proxy/`), /^GET \//);
  const headers = { 'content-type': 'application/merge-patch+json' };
  const containers = [{ name: 'a', image: 'i' }];
  for (const [name, podIP] of [
    ['loopback', '127.0.0.1'],
    ['mapped', '::ffff:127.0.0.1'],
    ['translated', '64:ff9b::7f00:1'],
    ['group', '224.0.0.1'],
  ]) {
    await api.call('POST', `${DEFAULT}/pods`, { body: { metadata: { name }, spec: { containers, nodeName: 'else' } } });
    await api.call('PATCH', `${DEFAULT}/pods/${name}/status`, { headers, body: { status: { podIP } } });
    const refused = await api.call('GET', `${DEFAULT}/pods/${name}:${port}/proxy/`);
    assert.deepEqual([refused.status, refused.textAt('message')], [400, 'address not allowed'], name);
  }
  const endpointsOf = async (name: string, targetRef?: object): Promise<void> => {
    const addresses = [{ ip: '10.0.0.1', ...(targetRef === undefined ? {} : { targetRef }) }];
    await api.call('POST', `${DEFAULT}/services`, {
      body: { metadata: { name }, spec: { ports: [{ name: 'p', port }] } },
    });
    const subsets = [{ addresses, ports: [{ name: 'p', port }] }];
    await api.call('POST', `${DEFAULT}/endpoints`, { body: { metadata: { name }, subsets } });
  };
  await endpointsOf('written');
  const loopback = await api.call('PATCH', `${DEFAULT}/endpoints/written`, {
    headers,
    body: { subsets: [{ addresses: [{ ip: '127.0.0.1' }], ports: [{ name: 'p', port }] }] },
  });
  assert.equal(loopback.status, 422);
});

test('[CVE-2018-1002105] only a 101 answer joins the connections of a client and a backend', async (t) => {
  const offered = 'Connection: Upgrade\r\nUpgrade: websocket';
  const server = createServer();
  server.on('upgrade', ({ url = '' }, socket) => {
    const head = url === '/yes' ? 'HTTP/1.1 101 Switching Protocols' : 'HTTP/1.1 403 Forbidden\r\nContent-Length: 2';
    socket.end(`${head}\r\n${offered}\r\n\r\nno`);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  const api = await startApi(t);
  await makePod(api, DEFAULT, 'own');
  const headers = { connection: 'Upgrade', upgrade: 'websocket' };
  const ask = async (path: string): Promise<readonly [number, boolean]> => {
    const { raw } = await api.call('GET', `${DEFAULT}/pods/own:${address.port}/proxy${path}`, { headers });
    // The owner of the connection ends it.
    const client = new Duplex({ read: () => {}, write: (_chunk, _encoding, done) => done() });
    raw.upgrade?.(client, new Uint8Array());
    client.destroy();
    return [raw.status, raw.upgrade !== undefined];
  };
  assert.deepEqual(await ask('/no'), [403, false]);
  assert.deepEqual(await ask('/yes'), [101, true]);
});
