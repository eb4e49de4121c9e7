import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { rootCertificates } from 'node:tls';
import { formatKubeconfig } from '@holdfast/pki/kubeconfig';
import { readAccess } from './kubeconfig.ts';

let folder = '';
before(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'holdfast-kubeconfig-'));
});
after(() => rmSync(folder, { recursive: true, force: true }));

function written(text: string): string {
  const file = path.join(folder, 'config');
  writeFileSync(file, text);
  return file;
}

const config = (cluster: object, user: object, context: object = {}): string =>
  written(
    JSON.stringify({
      'current-context': 'c',
      contexts: [{ name: 'c', context: { cluster: 'k', user: 'u', ...context } }],
      clusters: [{ name: 'k', cluster: { server: 'https://127.0.0.1:6443', ...cluster } }],
      users: [{ name: 'u', user }],
    }),
  );

test('the kubeconfig written by a cluster is readable', () => {
  const text = formatKubeconfig({
    contexts: [
      { name: 'holdfast-compose', server: 'https://127.0.0.1:6443' },
      { name: 'holdfast-compose-2', server: 'https://127.0.0.1:6444' },
    ],
    caCertificate: 'PEM',
    token: 'secret',
  });
  assert.deepEqual(readAccess(written(text)), {
    server: 'https://127.0.0.1:6443',
    console: 'https://127.0.0.1:6443',
    caPem: 'PEM',
    namespace: 'default',
    token: 'secret',
    clientCertificate: undefined,
  });
});

test('the console is at the API server unless the cluster names another place', () => {
  const options = { contexts: [{ name: 'c', server: 'https://127.0.0.1:7443' }], caCertificate: 'PEM', token: 't' };
  const placed = formatKubeconfig({ ...options, console: 'https://127.0.0.1:6480' });
  assert.equal(readAccess(written(placed)).console, 'https://127.0.0.1:6480');
  const odd = formatKubeconfig({ ...options, console: 'elsewhere' });
  assert.equal(readAccess(written(odd)).console, 'https://127.0.0.1:7443');
});

test('files next to the kubeconfig, a namespace and a client certificate are read; without an authority the Node defaults apply', () => {
  for (const name of ['ca.pem', 'me.pem', 'me.key', 'token']) writeFileSync(path.join(folder, name), `${name}\n`);
  const files = { 'client-certificate': 'me.pem', 'client-key': 'me.key', tokenFile: 'token' };
  const access = readAccess(config({ 'certificate-authority': 'ca.pem' }, files, { namespace: 'team' }));
  assert.deepEqual([access.caPem, access.namespace, access.token], ['ca.pem\n', 'team', 'token']);
  assert.deepEqual(access.clientCertificate, { certPem: 'me.pem\n', keyPem: 'me.key\n' });
  assert.equal(readAccess(config({}, {})).caPem, rootCertificates.join('\n'));
});

test('unsupported kubeconfig settings are refused by name, not ignored', () => {
  assert.throws(() => readAccess(config({ 'insecure-skip-tls-verify': true }, {})), /insecure-skip-tls-verify/);
  assert.throws(() => readAccess(config({}, { exec: { command: 'x' } })), /uses "exec"/);
  assert.throws(() => readAccess(config({}, { 'client-key-data': 'eA==' })), /only one of client-certificate/);
  assert.throws(() => readAccess(config({ server: 'https://host/prefix' }, {})), /names the server/);
  assert.throws(() => readAccess(written('current-context: gone')), /has no context "gone"/);
  assert.throws(() => readAccess(written('a: [')), /not valid YAML/);
  assert.throws(() => readAccess(path.join(folder, 'absent')), /cannot be read/);
});
