import assert from 'node:assert/strict';
import { createHash, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { type ClientHttp2Session, connect, createSecureServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { TLSSocket } from 'node:tls';
import { type Clock, createSystemClock } from '@holdfast/platform/clock';
import { createCertificate } from '../testing/certificate.ts';
import { clientCertificate } from './client-certificate.ts';

const clock = createSystemClock();

test('the client certificate is parsed once for all requests of a connection', async (t) => {
  const { certificate, key } = createCertificate();
  const hash = createHash('sha256').update(new X509Certificate(certificate).raw).digest('hex');
  const server = createSecureServer({ cert: certificate, key, ca: certificate, requestCert: true });
  const reads = t.mock.method(TLSSocket.prototype, 'getPeerX509Certificate').mock;
  server.on('request', (request, response) => response.end(clientCertificate(request, clock) ?? 'nobody'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const session = connect(`https://127.0.0.1:${port}`, { ca: certificate, cert: certificate, key });
  t.after(() => session.destroy());
  const identity = JSON.stringify({ hash, commonName: 'test', organizations: [] });
  assert.equal(await answerOf(session), identity);
  const first = reads.callCount();
  assert.ok(first > 0);
  assert.equal(await answerOf(session), identity);
  assert.equal(reads.callCount(), first);
});

test('a certificate of another authority is visible and gives no identity; a missing one is absent', async (t) => {
  const own = createCertificate();
  const other = createCertificate();
  const server = createSecureServer({
    cert: own.certificate,
    key: own.key,
    ca: own.certificate,
    requestCert: true,
    rejectUnauthorized: false,
  });
  server.on('request', (request, response) => response.end(JSON.stringify([clientCertificate(request, clock)])));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  for (const [credentials, seen] of [
    [{ cert: other.certificate, key: other.key }, '[""]'],
    [{}, '[null]'],
  ] as const) {
    const session = connect(`https://127.0.0.1:${port}`, { ca: own.certificate, ...credentials });
    t.after(() => session.destroy());
    assert.equal(await answerOf(session), seen);
  }
});

test('a connection does not extend the validity of a certificate', async (t) => {
  const { certificate, key } = createCertificate();
  const end = new X509Certificate(certificate).validToDate.getTime();
  let time = end;
  const running: Clock = { ...clock, now: () => time };
  const server = createSecureServer({ cert: certificate, key, ca: certificate, requestCert: true });
  server.on('request', (request, response) => response.end(JSON.stringify(clientCertificate(request, running))));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const session = connect(`https://127.0.0.1:${port}`, { ca: certificate, cert: certificate, key });
  t.after(() => session.destroy());
  assert.match(await answerOf(session), /commonName.*test/);
  time = end + 1;
  assert.equal(await answerOf(session), '""');
});

async function answerOf(session: ClientHttp2Session): Promise<string> {
  const stream = session.request({ ':path': '/' }).setEncoding('utf8');
  let text = '';
  for await (const chunk of stream) text += String(chunk);
  return text;
}
