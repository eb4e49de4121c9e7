import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { AbusedApi, type RawConnection, statusOf, unharmed } from '../support/abused-api.ts';

const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';
const MB = 1024 * 1024;

describe('paths and queries', () => {
  let api: AbusedApi;
  before(async () => {
    api = await AbusedApi.start();
    const secret = JSON.stringify({ metadata: { name: 'hidden' }, stringData: { password: 'p' } });
    assert.equal((await api.call('POST', '/api/v1/namespaces/kube-system/secrets', secret)).status, 201);
  });
  after(() => api[Symbol.asyncDispose]());

  /** Sends the path unchanged: no client library normalizes it. */
  async function raw(method: string, path: string, token: string | undefined = 'admin'): Promise<RawConnection> {
    const connection = await api.connect();
    const who = token === undefined ? '' : `Authorization: Bearer ${token}\r\n`;
    connection.socket.write(`${method} ${path} HTTP/1.1\r\nHost: x\r\n${who}Connection: close\r\n\r\n`);
    await connection.closed();
    return connection;
  }

  const codeOf = ({ text }: RawConnection): number => Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1]);

  const SECRET = '/api/v1/namespaces/kube-system/secrets/hidden';
  const tricks = [
    '/version/..%2f..%2fapi/v1/namespaces/kube-system/secrets/hidden',
    '/version/../api/v1/namespaces/kube-system/secrets/hidden',
    '/healthz/%2e%2e/api/v1/namespaces/kube-system/secrets/hidden',
    '/api/v1/namespaces/default/../kube-system/secrets/hidden',
    '/api/v1/namespaces/default/%2e%2e/kube-system/secrets/hidden',
    '/api/v1/namespaces/default/secrets/..%2f..%2f..%2fkube-system%2fsecrets%2fhidden',
    '//api/v1/namespaces/kube-system/secrets/hidden',
    '/api//v1/namespaces/kube-system/secrets/hidden',
    '/./api/v1/namespaces/kube-system/secrets/hidden',
    '/api/v1/namespaces/kube-system%00/secrets/hidden',
    '/api/v1/namespaces/kube-system/secrets/hidden%00',
    '/api/v1/namespaces/kube-system/secrets/hidden%0d%0aX-Injected:%20yes',
    '/api/v1/namespaces/kube-system/secrets/%E2%80%AEneddih',
    'http://other.example/api/v1/namespaces/kube-system/secrets/hidden',
    '*',
  ];
  test('path traversal in any encoding is refused', async () => {
    await unharmed(api, async () => {
      for (const path of tricks) {
        for (const method of ['GET', 'DELETE', 'PUT']) {
          const reply = await raw(method, path);
          assert.ok([400, 404, 405, 415].includes(codeOf(reply)), `${method} ${path}: ${reply.text.slice(0, 300)}`);
          assert.doesNotMatch(reply.text, /cGFzc3dvcmQ|X-Injected: yes\r/, path);
          const stranger = await raw(method, path, undefined);
          assert.ok([400, 401, 403, 404, 405].includes(codeOf(stranger)), `${path}: ${stranger.text.slice(0, 300)}`);
        }
        assert.equal((await api.call('GET', SECRET)).status, 200, path);
      }
    });
  });

  test('invalid percent sequences are 400 with a Status', async () => {
    await unharmed(api, async () => {
      for (const path of ['/api/v1/%zz', '/api/v1/%', '/api/v1/%e0%80', '/%c0%ae%c0%ae/version', '/api/v1/%ff']) {
        const reply = await raw('GET', path);
        assert.equal(codeOf(reply), 400, path);
        assert.equal(statusOf(reply).code, 400, path);
      }
    });
  });

  test('invalid percent sequences in a query never break the server', async () => {
    await unharmed(api, async () => {
      for (const query of ['labelSelector=%zz', 'limit=%00', 'fieldSelector=%ff%fe', '%=%', 'continue=%e0%80']) {
        assert.ok([200, 400].includes(codeOf(await raw('GET', `${CONFIG_MAPS}?${query}`))), query);
      }
    });
  });

  test('an unknown method is refused', async () => {
    await unharmed(api, async () => {
      for (const method of ['PROPFIND', 'TRACE', 'SEARCH', 'LINK']) {
        const reply = await raw(method, CONFIG_MAPS);
        assert.equal(codeOf(reply), 405, method);
        assert.equal(statusOf(reply).code, 405, method);
      }
      const connect = await raw('CONNECT', 'other.example:443');
      assert.doesNotMatch(connect.text, /^HTTP\/1\.1 2/);
    });
  });

  test('very long paths and names are refused or not found', async () => {
    await unharmed(api, async () => {
      for (const path of [
        `${CONFIG_MAPS}/${'x'.repeat(10_000)}`,
        `/${'a/'.repeat(5_000)}`,
        `/apis/${'%41'.repeat(3_000)}`,
      ]) {
        const reply = await raw('GET', path);
        assert.ok([400, 404].includes(codeOf(reply)), `${path.slice(0, 40)}: ${reply.text.slice(0, 200)}`);
      }
    });
  });

  test('thousands of parameters, repeated and unknown, are parsed once', async () => {
    await unharmed(api, async () => {
      const many = Array.from({ length: 1_500 }, (_, i) => `p${i}=1`).join('&');
      assert.equal(codeOf(await raw('GET', `${CONFIG_MAPS}?${many}`)), 200);
      assert.equal(codeOf(await raw('GET', `${CONFIG_MAPS}?${'limit=1&'.repeat(1_500)}`)), 200);
      assert.equal(codeOf(await raw('GET', `${CONFIG_MAPS}?${'&'.repeat(10_000)}`)), 200);
      assert.equal(codeOf(await raw('GET', `${CONFIG_MAPS}?__proto__=1&constructor=2&limit=1`)), 200);
    });
  });

  test('label selectors of 100 kB are answered, whatever they contain', async () => {
    const list = Array.from({ length: 10_000 }, (_, i) => `v${i}`).join(',');
    const selectors = [
      `a in (${list})`,
      `a notin (${list})`,
      Array.from({ length: 10_000 }, (_, i) => `k${i}=v`).join(','),
      Array.from({ length: 20_000 }, (_, i) => `!k${i}`).join(','),
      '('.repeat(100_000),
      ','.repeat(100_000),
      ' '.repeat(100_000),
      `a${'='.repeat(100_000)}`,
      'a!='.repeat(33_000),
    ];
    await unharmed(api, async () => {
      const before = await api.memory();
      const headers = { authorization: 'Bearer admin', 'content-type': 'application/json' };
      for (const selector of selectors) {
        // Such a selector does not fit a URL; a DeleteOptions or a label selector in a body may be as long.
        const spec = {
          resourceAttributes: { verb: 'list', resource: 'pods', labelSelector: { rawSelector: selector } },
        };
        const body = JSON.stringify({ spec });
        const reply = await api.call('POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', body, headers);
        assert.ok([201, 400, 422].includes(reply.status), `${selector.slice(0, 20)}: ${reply.text.slice(0, 300)}`);
        const url = `${CONFIG_MAPS}?labelSelector=${encodeURIComponent(selector.slice(0, 4_000))}`;
        const listed = await raw('GET', url);
        assert.ok([200, 400].includes(codeOf(listed)), `${selector.slice(0, 20)}: ${listed.text.slice(0, 300)}`);
      }
      await api.givesBack(before, 20 * MB);
    });
  });

  test('forged continue tokens are refused or stay inside the resource', async () => {
    const forge = (token: unknown): string => Buffer.from(JSON.stringify(token)).toString('base64url');
    const v = 'meta.k8s.io/v1';
    const tokens = [
      'garbage',
      '!!!!',
      forge(null),
      forge([]),
      forge({ v, rv: 'x', start: 'y' }),
      forge({ v, rv: -1, start: 'core/secrets/' }),
      forge({ v, rv: 1, start: 'core/secrets/kube-system/' }),
      forge({ v, rv: 1, start: '' }),
      forge({ v, rv: Number.MAX_SAFE_INTEGER, start: 'x' }),
      forge({ v, rv: 1, start: '../../secrets' }),
      forge({ v, rv: 1, start: '\uffff'.repeat(1_000) }),
      forge({ v, rv: 1, start: { length: 5 } }),
      forge({ v, rv: { valueOf: 1 }, start: 'x' }),
      `${forge({ v, rv: 1, start: 'x' })}=`.repeat(100),
    ];
    await unharmed(api, async () => {
      for (const token of tokens) {
        const reply = await api.call('GET', `${CONFIG_MAPS}?limit=1&continue=${encodeURIComponent(token)}`);
        assert.ok([200, 400, 410, 504].includes(reply.status), `${token}: ${reply.text.slice(0, 300)}`);
        assert.doesNotMatch(reply.text, /cGFzc3dvcmQ|"kind":"Secret/);
        if (reply.status !== 200) assert.equal(statusOf(reply).code, reply.status);
      }
    });
  });
});
