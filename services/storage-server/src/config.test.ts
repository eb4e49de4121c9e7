import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readStorageServerConfig } from './config.ts';

const read = (...argv: string[]) => readStorageServerConfig({ argv, env: {} });

test('the defaults listen on loopback', () => {
  const settings = read()?.settings;
  assert.deepEqual([settings?.host, settings?.port], ['127.0.0.1', 9_440]);
  assert.equal(read('--help'), undefined);
});

test('an address that is reachable from other machines requires a certificate', () => {
  assert.throws(() => read('--host', '0.0.0.0'), /without a certificate volumes and proofs would not be encrypted/);
  assert.ok(read('--host', '0.0.0.0', '--tls-cert-file', 'c.pem', '--tls-key-file', 'k.pem'));
  assert.throws(() => read('--tls-cert-file', 'c.pem'), /one of tls-cert-file and tls-key-file is missing/);
});

test('numbers are range-checked', () => {
  assert.throws(() => read('--volume-size-mib', '0'), /volume-size-mib/);
  assert.throws(() => read('--max-connections', '10001'), /max-connections/);
});
