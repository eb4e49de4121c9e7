import assert from 'node:assert/strict';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { test } from 'node:test';
import { connect, createServer, type TLSSocket } from 'node:tls';
import { distinguishedName, nameOfAuthority } from './certificate.ts';
import { type ClusterPki, createClusterPki, issueCertificate } from './cluster-pki.ts';
import { createCredentials, formatTokenFile, parseTokenFile } from './credentials.ts';
import { addressBytes, objectId, octets, partsOf, time } from './der.ts';
import { authorityFlaw, serverFlaw } from './flaw.ts';
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

test('a client is identified by a certificate of the authority, also one that was created elsewhere', async () => {
  const pki = await createClusterPki(STANDARD_SERVER_NAMES, NOW);
  const { certificate, key } = await issueCertificate(pki, {
    user: 'anna, O=of "x" + y',
    group: 'grüne:leute',
    purpose: 'client',
    nowMs: NOW,
  });
  const issued = new X509Certificate(certificate);
  const authority = new X509Certificate(pki.caCertificate);
  assert.ok(issued.checkIssued(authority) && issued.verify(authority.publicKey));
  assert.ok(issued.checkPrivateKey(createPrivateKey(key)));
  assert.deepEqual([issued.ca, issued.keyUsage], [false, ['1.3.6.1.5.5.7.3.2']]);
  assert.deepEqual({ ...issued.toLegacyObject().subject }, { O: 'grüne:leute', CN: 'anna, O=of "x" + y' });
  assert.equal(issued.subjectAltName, undefined);
  assert.deepEqual(nameOfAuthority(pki.caCertificate), distinguishedName('holdfast-ca'));
});

test('a certificate contains its validity, also after 2049', () => {
  assert.equal(time('2026-11-20T12:00:00Z').toString('latin1'), '\u0017\r261120120000Z');
  assert.equal(time('2050-01-01T00:00:00Z').toString('latin1'), '\u0018\u000f20500101000000Z');
});

test('addresses of both families become bytes', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['10.96.0.1', '0a600001'],
    ['::1', '00000000000000000000000000000001'],
    ['::', '00000000000000000000000000000000'],
    ['2001:db8::8a2e:370:7334', '20010db80000000000008a2e03707334'],
    ['fe80::', 'fe800000000000000000000000000000'],
    ['::ffff:10.0.0.1', '00000000000000000000ffff0a000001'],
  ];
  for (const [address, wanted] of cases) assert.equal(addressBytes(address).toString('hex'), wanted, address);
});

test('lengths and object identifiers have minimal encodings', () => {
  assert.equal(objectId('1.2.840.10045.4.3.2').toString('hex'), '06082a8648ce3d040302');
  assert.deepEqual([...octets(new Uint8Array(127)).subarray(0, 2)], [4, 127]);
  assert.deepEqual([...octets(new Uint8Array(200)).subarray(0, 3)], [4, 0x81, 200]);
  assert.deepEqual([...octets(new Uint8Array(300)).subarray(0, 4)], [4, 0x82, 1, 44]);
  assert.equal(partsOf(octets(octets(new Uint8Array(300)), octets())).length, 2);
});

test('the token file holds every component of the cluster and reads back as written', () => {
  const credentials = createCredentials(['node-1', 'node-2']);
  const users = [...credentials.keys()];
  assert.ok(users.includes('system:node:node-2') && users.includes('system:kube-scheduler'));
  assert.equal(new Set([...credentials.values()].map((c) => c.token)).size, users.length);
  assert.deepEqual(parseTokenFile(formatTokenFile(credentials.values())), credentials);
});

test('kept certificates are used only when each is valid and has its key', async () => {
  const pki = await createClusterPki(STANDARD_SERVER_NAMES, NOW);
  const other = await createClusterPki(STANDARD_SERVER_NAMES, NOW);
  const flawOf = (each: ClusterPki): string | undefined => authorityFlaw(each) ?? serverFlaw(each);
  assert.equal(flawOf(pki), undefined);
  const flaws: readonly (readonly [Partial<ClusterPki>, string])[] = [
    [{ caCertificate: 'garbage' }, 'ca.crt is not a certificate'],
    [{ caKey: '' }, 'ca.key is not a private key'],
    [{ serverCertificate: '' }, 'server.crt is not a certificate'],
    [{ serverKey: 'garbage' }, 'server.key is not a private key'],
    [{ caKey: other.caKey }, 'ca.key does not belong to ca.crt'],
    [{ serverKey: other.serverKey }, 'server.key does not belong to server.crt'],
    [{ caCertificate: other.caCertificate, caKey: other.caKey }, 'server.crt is not signed by ca.crt'],
  ];
  for (const [part, flaw] of flaws) assert.equal(flawOf({ ...pki, ...part }), flaw);
});

test('a token file with invalid content admits no client', () => {
  const text = formatTokenFile(createCredentials(['node-1']).values());
  for (const broken of ['garbage', `${text}garbage\n`, text.slice(0, -5), ',admin,admin,"system:masters"\n']) {
    assert.equal(parseTokenFile(broken), undefined);
  }
});
