import { strict as assert } from 'node:assert';
import { connect as connectHttp2 } from 'node:http2';
import { request as httpsRequest } from 'node:https';
import { after, before, describe, test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { createSilentLog } from '@holdfast/platform';
import { eventually } from '@holdfast/platform/contract';
import { createCertificate } from '../testing/certificate.ts';
import { configMapBody, startTestApi, type TestApi } from '../testing/fixture.ts';
import { createHttpsServer, type HttpsServer } from './index.ts';

const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';

describe('HTTPS', () => {
  let api: TestApi;
  let https: HttpsServer;
  let port: number;
  const tls = createCertificate();

  before(async () => {
    api = await startTestApi();
    https = createHttpsServer({ handle: api.server.handle, log: createSilentLog(), host: '127.0.0.1', port: 0, tls });
    await https.start();
    port = https.address().port;
  });
  after(async () => {
    await https.stop();
    await api.stop();
  });

  interface Reply {
    readonly status: number;
    readonly text: string;
  }

  const headers = { authorization: 'Bearer admin' };

  const http1 = (method: string, path: string, body?: string): Promise<Reply> =>
    new Promise((resolve, reject) => {
      const type = body === undefined ? {} : { 'content-type': 'application/json' };
      const options = { host: '127.0.0.1', port, method, path, ca: tls.certificate, headers: { ...headers, ...type } };
      const request = httpsRequest({ ...options, agent: false }, (response) => {
        response.setEncoding('utf8');
        let text = '';
        response.on('data', (chunk: string) => (text += chunk));
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
      });
      request.on('error', reject);
      request.end(body);
    });

  test('HTTP/1.1 requests reach the pipeline and come back', async () => {
    const created = await http1('POST', CONFIG_MAPS, JSON.stringify(configMapBody('one')));
    assert.equal(created.status, 201);
    const read = await http1('GET', `${CONFIG_MAPS}/one`);
    assert.deepEqual(JSON.parse(read.text), JSON.parse(created.text));
  });

  test('a selector may be long over HTTP/1.1, as over HTTP/2', async () => {
    const values = Array.from({ length: 7_000 }, (_, i) => i).join(',');
    const listed = await http1('GET', `${CONFIG_MAPS}?labelSelector=a%20in%20(${values})`);
    assert.equal(listed.status, 200);
    const tooLong = await http1('GET', `${CONFIG_MAPS}?labelSelector=a%20in%20(${values},${values})`);
    assert.equal(tooLong.status, 431);
  });

  test('an HTTP/2 body without length and type is JSON', async () => {
    const session = connectHttp2(`https://127.0.0.1:${port}`, { ca: tls.certificate });
    const stream = session.request({ ':method': 'POST', ':path': CONFIG_MAPS, ...headers }, { endStream: false });
    const status = new Promise((resolve, reject) => {
      stream.on('response', (answer) => resolve(answer[':status'])).on('error', reject);
    });
    stream.resume().end(JSON.stringify(configMapBody('bare')));
    assert.equal(await status, 201);
    await new Promise<void>((resolve) => session.close(resolve));
  });

  test('HTTP/2 is spoken on the same port', async () => {
    const session = connectHttp2(`https://127.0.0.1:${port}`, { ca: tls.certificate });
    const stream = session.request({ ':method': 'GET', ':path': '/version' });
    const [status, text] = await new Promise<[unknown, string]>((resolve, reject) => {
      let received: unknown;
      let body = '';
      stream.on('response', (responseHeaders) => (received = responseHeaders[':status']));
      stream.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
      stream.on('end', () => resolve([received, body]));
      stream.on('error', reject);
    });
    session.close();
    assert.equal(status, 200);
    assert.match(text, /"minor": "32"/);
  });

  const headersOver = {
    'HTTP/1.1': (path: string, sent: Record<string, string | string[]>) =>
      new Promise<Readonly<Record<string, unknown>>>((resolve, reject) => {
        const options = {
          host: '127.0.0.1',
          port,
          path,
          ca: tls.certificate,
          headers: { ...headers, ...sent },
          agent: false,
        };
        httpsRequest(options, (response) => response.resume().on('end', () => resolve(response.headers)))
          .on('error', reject)
          .end();
      }),
    'HTTP/2': async (path: string, sent: Record<string, string | string[]>) => {
      const session = connectHttp2(`https://127.0.0.1:${port}`, { ca: tls.certificate });
      const stream = session.request({ ':path': path, ...headers, ...sent });
      const got = await new Promise<Readonly<Record<string, unknown>>>((resolve, reject) => {
        stream.on('response', resolve).on('error', reject);
      });
      stream.resume();
      session.close();
      return got;
    },
  };

  for (const version of ['HTTP/1.1', 'HTTP/2'] as const) {
    test(`every answer over ${version} has the id of the request`, async () => {
      const seen = new Set<unknown>();
      for (const path of ['/version', '/version', `${CONFIG_MAPS}/none`, '/api/%zz', CONFIG_MAPS]) {
        const id = (await headersOver[version](path, {}))['audit-id'];
        assert.match(String(id), /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/, path);
        seen.add(id);
      }
      assert.equal(seen.size, 5);
      const own = await headersOver[version]('/version', { 'audit-id': 'mine' });
      assert.deepEqual([own['audit-id'], own['cache-control']], ['mine', 'no-cache, private']);
      const idOf = async (sent: string | string[]): Promise<unknown> =>
        (await headersOver[version]('/version', { 'audit-id': sent }))['audit-id'];
      assert.equal(await idOf(['first', 'second']), 'first');
      assert.equal(await idOf('one, as it is'), 'one, as it is');
      assert.match(String(await idOf(['', 'second'])), /^[0-9a-f]{8}-/);
      const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
      assert.equal((await headersOver[version]('/apis', { accept }))['cache-control'], 'public');
    });
  }

  test('an unknown method is answered like an unserved one', async () => {
    const session = connectHttp2(`https://127.0.0.1:${port}`, { ca: tls.certificate });
    const stream = session.request({ ':method': 'FOO', ':path': CONFIG_MAPS, ...headers }, { endStream: true });
    const status = await new Promise((resolve, reject) => {
      stream.on('response', (answer) => resolve(answer[':status'])).on('error', reject);
    });
    stream.resume();
    session.close();
    assert.equal(status, 405);
  });

  test('an HTTP/2 client gets the address that it used', async () => {
    const session = connectHttp2(`https://127.0.0.1:${port}`, { ca: tls.certificate });
    const stream = session.request({ ':path': '/api', ...headers });
    let text = '';
    for await (const chunk of stream.setEncoding('utf8')) text += String(chunk);
    session.close();
    assert.match(text, new RegExp(`"serverAddress":"127\\.0\\.0\\.1:${port}"`));
  });

  for (const version of ['HTTP/1.1', 'HTTP/2'] as const) {
    test(`a watch over ${version} sends each frame at once and ends when the client goes`, async () => {
      const name = version === 'HTTP/2' ? 'w2' : 'w1';
      const path = `${CONFIG_MAPS}?watch=1&fieldSelector=metadata.name%3D${name}`;
      const opened = Promise.withResolvers<void>();
      const frame =
        version === 'HTTP/2' ? firstFrameHttp2(path, opened.resolve) : firstFrameHttp1(path, opened.resolve);
      await opened.promise;
      await http1('POST', CONFIG_MAPS, JSON.stringify(configMapBody(name)));
      const event: unknown = JSON.parse(await frame);
      assert.ok(typeof event === 'object' && event !== null && 'type' in event);
      assert.equal(event.type, 'ADDED');
      await untilNoWatchIsOpen();
    });
  }

  function untilNoWatchIsOpen(): Promise<boolean> {
    const noneIsOpen = /^apiserver_registered_watchers\{resource="configmaps"\} 0$/m;
    return eventually(
      async () => noneIsOpen.test(String((await api.call('GET', '/metrics')).body)),
      'the server holds no watch whose client has gone',
    );
  }

  function firstFrameHttp1(path: string, onOpen: () => void): Promise<string> {
    return new Promise((resolve, reject) => {
      const options = { host: '127.0.0.1', port, path, ca: tls.certificate, headers };
      const request = httpsRequest({ ...options, agent: false }, (response) => {
        onOpen();
        response.setEncoding('utf8').once('data', (chunk: string) => {
          resolve(chunk);
          request.destroy();
        });
      });
      request.on('error', reject);
      request.end();
    });
  }

  function firstFrameHttp2(path: string, onOpen: () => void): Promise<string> {
    const session = connectHttp2(`https://127.0.0.1:${port}`, { ca: tls.certificate });
    return new Promise((resolve, reject) => {
      const stream = session.request({ ':method': 'GET', ':path': path, ...headers });
      stream.on('response', onOpen).on('error', reject);
      stream.setEncoding('utf8').once('data', (chunk: string) => {
        resolve(chunk);
        session.destroy();
      });
    });
  }

  test('a body over 3 MB is 413', async () => {
    const reply = await http1('POST', CONFIG_MAPS, 'x'.repeat(3 * 1024 * 1024 + 1));
    assert.equal(reply.status, 413);
  });

  test('an invalid percent-encoding of a path is 400, path traversal is 404', async () => {
    assert.equal((await http1('GET', '/api/v1/%zz')).status, 400);
    assert.equal((await http1('GET', '/api/v1/namespaces/default/configmaps/..%2f..%2fsecrets')).status, 404);
    assert.equal((await http1('GET', '/api/v1/__proto__')).status, 404);
    assert.equal((await http1('GET', '/apis/__proto__/constructor/x')).status, 404);
  });

  test('a client without TLS and one with half a request do not disturb the others', async () => {
    const half = connectTls({ host: '127.0.0.1', port, ca: tls.certificate });
    await new Promise<void>((resolve) => half.once('secureConnect', resolve));
    half.write('POST /api/v1/namespaces HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{');
    assert.equal((await http1('GET', '/readyz')).status, 200);
    half.destroy();
  });
});
