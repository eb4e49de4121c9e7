import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { createClusterPki } from '@holdfast/pki/cluster-pki';
import { createSeededRandom, createSystemClock } from '@holdfast/platform';
import { AbusedApi, statusOf, unharmed } from '../support/abused-api.ts';
import { waitFor } from '../support/wait.ts';

describe('invalid TLS', () => {
  let api: AbusedApi;
  before(async () => {
    api = await AbusedApi.start();
  });
  after(() => api[Symbol.asyncDispose]());

  const random = createSeededRandom(1, 'abuse-tls');
  const rubbish = Buffer.from(Array.from({ length: 4_096 }, () => Math.floor(random.float() * 256)));
  const openings: readonly (readonly [string, Buffer])[] = [
    ['plain HTTP', Buffer.from('GET /version HTTP/1.1\r\nHost: x\r\n\r\n')],
    ['plain HTTP/2', Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')],
    ['random bytes', rubbish],
    ['a record that claims more than TLS allows', Buffer.from('160301ffff', 'hex')],
    ['an alert before any handshake', Buffer.from('15030100020228', 'hex')],
  ];
  for (const [title, bytes] of openings) {
    test(`${title} on the TLS port ends that connection and no other`, async () => {
      await unharmed(api, async () => {
        const sockets = Array.from({ length: 200 }, () => connect(api.port, '127.0.0.1').on('error', () => {}));
        for (const socket of sockets) socket.resume().end(bytes);
        await waitFor('the connections are closed', () => sockets.every((socket) => socket.destroyed));
      });
    });
  }

  test('a certificate of another authority is refused, not treated as absent', async () => {
    const other = await createClusterPki({ dnsNames: ['admin'], ipAddresses: [] }, createSystemClock().now());
    await unharmed(api, async () => {
      const connection = await api.connect('http/1.1', { cert: other.serverCertificate, key: other.serverKey });
      connection.socket.write('GET /api/v1/secrets HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
      await waitFor('the answer is there', () => connection.ended);
      assert.equal(statusOf(connection).code, 401);
    });
  });

  test('TLS before 1.2 is refused', async () => {
    const options = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const;
    await assert.rejects(api.connect('http/1.1', options), /alert protocol version|unsupported protocol/);
  });

  test('non-HTTP data inside TLS get a Status, and the connection is closed', async () => {
    const manyHeaders = Array.from({ length: 9_000 }, (_, i) => `X-${i}: y\r\n`).join('');
    const cases = [
      ['\0\0\0 nonsense\r\n\r\n', 400],
      ['GET /version HTTP/9.9\r\n\r\n', 400],
      ['GET /version HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n', 400],
      [`GET /version HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(100_000)}\r\n\r\n`, 431],
      [`GET /version HTTP/1.1\r\nHost: x\r\n${manyHeaders}\r\n`, 431],
      [`GET /${'x'.repeat(100_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 431],
    ] as const;
    await unharmed(api, async () => {
      for (const [text, code] of cases) {
        const connection = await api.connect();
        connection.socket.write(text);
        await waitFor('the connection is closed', () => connection.ended);
        assert.equal(statusOf(connection).code, code, text.slice(0, 60));
      }
    });
  });
});
