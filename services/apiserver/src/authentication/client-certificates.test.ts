import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { test } from 'node:test';
import type { ApiRequest } from '@holdfast/client';
import { createCertificate } from '../testing/certificate.ts';
import { identityText } from './certificate-identity.ts';
import { authenticate } from './chain.ts';
import { clientCertificates } from './client-certificates.ts';
import { ANONYMOUS } from './identity.ts';

const requestWith = (clientCertificate: string): ApiRequest => ({
  method: 'GET',
  path: '/',
  query: new URLSearchParams(),
  headers: {},
  connection: { remoteAddress: '127.0.0.1', clientCertificate },
});

test('a certificate provides the user and groups, and is identified by its hash', () => {
  const text = JSON.stringify({ hash: 'ab12', commonName: 'jane', organizations: ['dev', 'ops'] });
  assert.deepEqual(clientCertificates.authenticate(requestWith(text)), {
    name: 'jane',
    groups: ['dev', 'ops', 'system:authenticated'],
    extra: { 'authentication.kubernetes.io/credential-id': ['X509SHA256=ab12'] },
  });
});

test('a certificate without a common name is no credential', () => {
  const nameless = JSON.stringify({ hash: 'ab12', commonName: '', organizations: ['dev'] });
  assert.equal(clientCertificates.authenticate(requestWith(nameless)), undefined);
});

test('a certificate of another authority is no credential, and a request without another credential is refused', () => {
  assert.equal(clientCertificates.authenticate(requestWith('')), undefined);
  assert.throws(() => authenticate([clientCertificates], requestWith('')), { message: 'Unauthorized' });
  const byToken = { authenticate: () => ANONYMOUS };
  assert.equal(authenticate([clientCertificates, byToken], requestWith('')), ANONYMOUS);
});

test('names and groups have the characters that the certificate has, and may stand together', () => {
  for (const [subject, name, groups] of [
    ['dev\\+ops', 'dev+ops', []],
    ['a, b+O=x\\+y', 'a, b', ['x+y']],
    ['first/CN=second', 'second', []],
  ] as const) {
    const { raw } = new X509Certificate(createCertificate(subject).certificate);
    const found = clientCertificates.authenticate(requestWith(identityText('ab12', raw)));
    assert.ok(found !== undefined && !(found instanceof Promise));
    assert.deepEqual([found.name, found.groups], [name, [...groups, 'system:authenticated']]);
  }
});

test('a line break in a name adds no group', () => {
  const text = JSON.stringify({ hash: 'ab12', commonName: 'jane\nO=system:masters', organizations: [] });
  const found = clientCertificates.authenticate(requestWith(text));
  assert.ok(found !== undefined && !(found instanceof Promise));
  assert.deepEqual([found.name, found.groups], ['jane\nO=system:masters', ['system:authenticated']]);
});
