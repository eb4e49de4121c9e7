import { API_CLIENT_SIGNER, KUBELET_CLIENT_SIGNER, LEGACY_SIGNER } from '@holdfast/api';
import 'reflect-metadata';
import assert from 'node:assert/strict';
import { webcrypto, X509Certificate } from 'node:crypto';
import { test } from 'node:test';
import { createIds, createSeededRandom, dateOf } from '@holdfast/platform';
import {
  BasicConstraintsExtension,
  type JsonGeneralName,
  PemConverter,
  Pkcs10CertificateRequestGenerator,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from '@peculiar/x509';
import type { CertificateAuthority } from './port.ts';
import { KUBELET_SERVING, refusalOf } from './rules.ts';
import { openAuthority, readRequest } from './x509.ts';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const NOW = 1_800_000_000_000;
const DAY = 86_400_000;

const keys = (): Promise<webcrypto.CryptoKeyPair> => webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);

/** As in the object: base64 of PEM. */
async function requestFor(name: string, names: readonly JsonGeneralName[] = []): Promise<string> {
  const extensions = names.length === 0 ? [] : [new SubjectAlternativeNameExtension([...names])];
  const request = await Pkcs10CertificateRequestGenerator.create({
    name,
    keys: await keys(),
    signingAlgorithm: ALGORITHM,
    extensions,
  });
  return Buffer.from(request.toString('pem')).toString('base64');
}

async function authority(days = 3650): Promise<{ ca: CertificateAuthority; certificate: X509Certificate }> {
  const pair = await keys();
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: 'CN=test-ca',
    keys: pair,
    signingAlgorithm: ALGORITHM,
    notBefore: dateOf(NOW - DAY),
    notAfter: dateOf(NOW + days * DAY),
    extensions: [new BasicConstraintsExtension(true, undefined, true)],
  });
  const key = PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', pair.privateKey), 'PRIVATE KEY');
  const pem = certificate.toString('pem');
  return {
    ca: await openAuthority({ certificate: pem, key }, createIds(createSeededRandom(1, 'serials'))),
    certificate: new X509Certificate(pem),
  };
}

test('the subject and the alternative names of a request are parsed', async () => {
  const names = [
    { type: 'dns', value: 'a.example' },
    { type: 'ip', value: '192.0.2.1' },
    { type: 'email', value: 'a@example.com' },
    { type: 'url', value: 'spiffe://a' },
  ] as const;
  assert.deepEqual(await readRequest(await requestFor('CN=jane, O=dev, O=ops', names)), {
    commonName: 'jane',
    organizations: ['dev', 'ops'],
    dnsNames: ['a.example'],
    ipAddresses: ['192.0.2.1'],
    emailAddresses: ['a@example.com'],
    uris: ['spiffe://a'],
  });
});

test('a certificate contains the requested names, has the decided lifetime, and is not an authority', async () => {
  const { ca, certificate } = await authority();
  const request = await requestFor('CN=jane, O=dev', [{ type: 'dns', value: 'a.example' }]);
  const usages = ['client auth', 'digital signature', 'key encipherment'];
  const pem = await ca.issue(request, { usages, notBeforeMs: NOW, notAfterMs: NOW + DAY });
  const issued = new X509Certificate(pem);
  assert.ok(issued.verify(certificate.publicKey));
  assert.deepEqual(issued.subject.split('\n').sort(), ['CN=jane', 'O=dev']);
  assert.deepEqual(
    [issued.ca, issued.keyUsage, issued.subjectAltName],
    [false, ['1.3.6.1.5.5.7.3.2'], 'DNS:a.example'],
  );
  assert.deepEqual([issued.validFromDate.getTime(), issued.validToDate.getTime()], [NOW, NOW + DAY]);
});

test('a certificate is issued to the evaluated name, in any encoding', async () => {
  const { ca } = await authority();
  const options = { usages: ['client auth'], notBeforeMs: NOW, notAfterMs: NOW + DAY };
  const masters = `#0c0e${Buffer.from('system:masters').toString('hex')}`;
  // The organization as the request encodes it, its meaning, and its text in a certificate.
  for (const [written, organization, shown] of [
    ['\\\\system:masters', '\\system:masters', 'O=\\\\system:masters'],
    [`\\${masters}`, masters, `O=\\${masters}`],
    ['a\\,O=system:masters', 'a,O=system:masters', 'O=a\\,O=system:masters'],
  ] as const) {
    const request = await requestFor(`CN=jane, O=${written}`);
    assert.deepEqual((await readRequest(request)).organizations, [organization]);
    assert.deepEqual(new X509Certificate(await ca.issue(request, options)).subject.split('\n'), ['CN=jane', shown]);
  }
  const twoInOne = await requestFor('CN=jane+O=system:masters');
  await assert.rejects(ca.issue(twoInOne, options), /is ambiguous/);
});

test('a request with two common names is neither read nor signed', async () => {
  const { ca } = await authority();
  const request = await requestFor('CN=system:node:seen, CN=system:node:meant, O=system:nodes');
  const options = { usages: ['client auth'], notBeforeMs: NOW, notAfterMs: NOW + DAY };
  await assert.rejects(readRequest(request), /more than one common name/);
  await assert.rejects(ca.issue(request, options), /more than one common name/);
});

test('no certificate outlives its authority, and an altered request is not signed', async () => {
  const { ca, certificate } = await authority(1);
  const request = await requestFor('CN=jane');
  const options = { usages: ['client auth'], notBeforeMs: NOW, notAfterMs: NOW + 365 * DAY };
  const issued = new X509Certificate(await ca.issue(request, options));
  assert.equal(issued.validToDate.getTime(), certificate.validToDate.getTime());
  const [der] = PemConverter.decode(Buffer.from(request, 'base64').toString());
  assert.ok(der);
  const bytes = Buffer.from(der);
  bytes.write('june', bytes.indexOf('jane'));
  const altered = PemConverter.encode(bytes, 'CERTIFICATE REQUEST');
  await assert.rejects(ca.issue(Buffer.from(altered).toString('base64'), options), /unable to verify/);
});

test('each signer refuses with the messages of Kubernetes', () => {
  const node = {
    commonName: 'system:node:a',
    organizations: ['system:nodes'],
    dnsNames: [],
    ipAddresses: [],
    emailAddresses: [],
    uris: [],
  };
  const client = ['client auth', 'digital signature', 'key encipherment'];
  const serving = ['server auth', 'digital signature'];
  const named = { ...node, dnsNames: ['a'] };
  assert.equal(refusalOf(KUBELET_CLIENT_SIGNER, node, client), undefined);
  assert.equal(refusalOf(KUBELET_CLIENT_SIGNER, node, client.slice(0, 2)), undefined, 'keys that cannot encipher');
  assert.equal(refusalOf(KUBELET_CLIENT_SIGNER, named, client), 'DNS subjectAltNames are not allowed');
  assert.equal(
    refusalOf(KUBELET_CLIENT_SIGNER, { ...node, organizations: ['system:nodes', 'x'] }, client),
    'subject organization is not system:nodes',
  );
  assert.equal(
    refusalOf(KUBELET_CLIENT_SIGNER, { ...node, commonName: 'a' }, client),
    'subject common name does not begin with system:node:',
  );
  const mismatch = 'usages did not match [client auth digital signature key encipherment]';
  assert.equal(refusalOf(KUBELET_CLIENT_SIGNER, node, [...client, 'server auth']), mismatch);
  assert.equal(refusalOf(KUBELET_SERVING, named, serving), undefined);
  assert.equal(refusalOf(KUBELET_SERVING, node, serving), 'DNS or IP subjectAltName is required');
  assert.equal(refusalOf(API_CLIENT_SIGNER, named, client), undefined);
  assert.equal(refusalOf(API_CLIENT_SIGNER, node, serving), 'invalid usage for client certificate: server auth');
  assert.equal(
    refusalOf(API_CLIENT_SIGNER, node, ['digital signature']),
    'missing required usage for client certificate: client auth',
  );
  assert.equal(
    refusalOf(API_CLIENT_SIGNER, { ...node, organizations: ['system:masters'] }, client),
    'use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed',
  );
  assert.equal(refusalOf(LEGACY_SIGNER, node, ['any']), undefined);
});
