import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { readSettings } from './config.ts';
import { OperatorError } from './errors.ts';
import { BUS_TLS_SETTINGS, explainConnection, readBusTls, readStoreTls, STORE_TLS_SETTINGS } from './tls-client.ts';

const PEM = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
const busOf = (...argv: readonly string[]) => readBusTls(readSettings(BUS_TLS_SETTINGS, { argv, env: {} }));

test('named files are read as text; unnamed files are absent', (t) => {
  const directory = mkdtempSync(path.join(tmpdir(), 'holdfast-tls-client-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const file = path.join(directory, 'any.pem');
  writeFileSync(file, PEM);
  assert.equal(busOf(), undefined);
  assert.deepEqual(busOf(`--bus-ca-file=${file}`), { ca: PEM });
  const env = { HOLDFAST_STORE_CERT_FILE: file, HOLDFAST_STORE_KEY_FILE: file };
  const store = readSettings(STORE_TLS_SETTINGS, { argv: [], env });
  assert.deepEqual(readStoreTls({ ...store, store: 'rediss://redis:6379' }), { cert: PEM, key: PEM });
  for (const address of ['redis://redis:6379', 'memory', undefined]) {
    assert.throws(() => readStoreTls({ ...store, store: address }), /need a store that uses TLS/, address);
    assert.equal(
      readStoreTls({ ...readSettings(STORE_TLS_SETTINGS, { argv: [], env: {} }), store: address }),
      undefined,
    );
  }
  const wrong = path.join(directory, 'wrong.pem');
  writeFileSync(wrong, 'not a certificate');
  for (const [argv, message] of [
    [[`--bus-cert-file=${file}`], /--bus-cert-file and --bus-key-file go together/],
    [[`--bus-ca-file=${file}.absent`], /--bus-ca-file.*cannot be read/],
    [[`--bus-ca-file=${wrong}`], /--bus-ca-file.*is not PEM/],
  ] as const) {
    assert.throws(
      () => busOf(...argv),
      (error) => error instanceof OperatorError && error.exitCode === 2 && message.test(error.message),
    );
  }
});

test('a failed connection is explained by its deepest known cause, or not at all', () => {
  const expired = Object.assign(new Error('certificate has expired'), { code: 'CERT_HAS_EXPIRED' });
  assert.match(explainConnection('bus', new Error('request failed', { cause: expired })) ?? '', /has expired: renew/);
  assert.match(explainConnection('store', new Error('NOAUTH Authentication required.')) ?? '', /password is wrong/);
  const foreign = Object.assign(new Error('self-signed certificate'), { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' });
  assert.match(explainConnection('bus', foreign) ?? '', /--bus-ca-file/);
  assert.equal(explainConnection('bus', new Error('connect ECONNREFUSED')), undefined);
  assert.equal(explainConnection('store', undefined), undefined);
});
