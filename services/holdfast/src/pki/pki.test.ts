import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { test } from 'node:test';
import { connect, createServer, type TLSSocket } from 'node:tls';
import { createClusterPki } from './cluster-pki.ts';
import { createCredentials, formatTokenFile, parseTokenFile } from './credentials.ts';
import { STANDARD_SERVER_NAMES } from './names.ts';

/** 2026-11-20. */
const NOW = 1_795_132_800_000;

test('the server certificate is signed by the authority and names every address', async () => {
  const pki = await createClusterPki({ dnsNames: ['apiserver-1', 'localhost'], ipAddresses: ['127.0.0.1'] }, NOW);
  const server = new X509Certificate(pki.serverCertificate);
  const authority = new X509Certificate(pki.caCertificate);
  assert.ok(authority.ca);
  assert.ok(server.verify(authority.publicKey));
  assert.equal(server.checkHost('apiserver-1'), 'apiserver-1');
  assert.equal(server.checkIP('127.0.0.1'), '127.0.0.1');
  assert.equal(server.checkHost('elsewhere'), undefined);
});

test('a TLS client that trusts the authority alone accepts the server', async () => {
  const pki = await createClusterPki(STANDARD_SERVER_NAMES, NOW);
  const server = createServer({ cert: pki.serverCertificate, key: pki.serverKey }, (socket) => socket.end('hello'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const address = server.address();
    assert.ok(address !== null && typeof address === 'object');
    const received = await new Promise<string>((resolve, reject) => {
      const socket: TLSSocket = connect({ host: '127.0.0.1', port: address.port, ca: pki.caCertificate });
      socket.on('data', (data) => resolve(data.toString()));
      socket.on('error', reject);
    });
    assert.equal(received, 'hello');
  } finally {
    server.close();
  }
});

test('the token file holds every component of the cluster and reads back as written', () => {
  const credentials = createCredentials(['node-1', 'node-2']);
  const users = [...credentials.keys()];
  assert.ok(users.includes('system:node:node-2') && users.includes('system:kube-scheduler'));
  assert.equal(new Set([...credentials.values()].map((c) => c.token)).size, users.length);
  assert.deepEqual(parseTokenFile(formatTokenFile(credentials.values())), credentials);
});
