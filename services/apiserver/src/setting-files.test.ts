import { strict as assert } from 'node:assert';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { OperatorError } from '@holdfast/platform';
import { readAuthority, readPair } from './setting-files.ts';
import { createCertificate } from './testing/certificate.ts';

test('certificates and keys that a server could not use are told by their files', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'apiserver-files-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const [one, other] = [createCertificate(), createCertificate()];
  const texts = { 'one.crt': one.certificate, 'one.key': one.key, 'other.key': other.key, 'tokens.csv': 'a,b\n' };
  for (const [name, text] of Object.entries(texts)) writeFileSync(join(folder, name), text);
  const file = (name: keyof typeof texts | 'absent'): string => join(folder, name);
  assert.deepEqual(await readPair(file('one.crt'), file('one.key')), one);
  assert.equal(await readAuthority(file('one.crt')), one.certificate);
  for (const [reading, says] of [
    [() => readPair(file('one.crt'), file('other.key')), /other\.key does not belong to .*one\.crt\.$/],
    [() => readPair(file('tokens.csv'), file('one.key')), /tokens\.csv is no certificate\.$/],
    [() => readPair(file('one.crt'), file('tokens.csv')), /tokens\.csv is no private key\.$/],
    [() => readPair(file('one.crt'), file('absent')), /absent cannot be read\.$/],
    [() => readAuthority(file('one.key')), /one\.key is no certificate\.$/],
  ] as const) {
    await assert.rejects(
      reading(),
      (error) => error instanceof OperatorError && error.exitCode === 2 && says.test(error.message),
    );
  }
});
