import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiRequest } from '@holdfast/client';
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
  assert.deepEqual(clientCertificates.authenticate(requestWith('ab12\nO=dev\nO=ops\nCN=jane')), {
    name: 'jane',
    groups: ['dev', 'ops', 'system:authenticated'],
    extra: { 'authentication.kubernetes.io/credential-id': ['X509SHA256=ab12'] },
  });
});

test('a certificate without a common name is no credential', () => {
  assert.equal(clientCertificates.authenticate(requestWith('ab12\nO=dev')), undefined);
});

test('a certificate of another authority is no credential, and a request without another credential is refused', () => {
  assert.equal(clientCertificates.authenticate(requestWith('')), undefined);
  assert.throws(() => authenticate([clientCertificates], requestWith('')), { message: 'Unauthorized' });
  const byToken = { authenticate: () => ANONYMOUS };
  assert.equal(authenticate([clientCertificates, byToken], requestWith('')), ANONYMOUS);
});
