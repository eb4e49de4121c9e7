import { strict as assert } from 'node:assert';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { rootCertificates } from 'node:tls';
import { OperatorError } from './errors.ts';
import { readAuthority, readPair } from './setting-files.ts';

const CERTIFICATE = rootCertificates[0] ?? '';
const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const TEXTS = {
  'one.crt': CERTIFICATE,
  'other.key': privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  'tokens.csv': 'a,b\n',
} as const;

test('certificates and keys that are unusable are reported by file', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-setting-files-'));
  t.after(() => rmSync(folder, { recursive: true }));
  for (const [name, text] of Object.entries(TEXTS)) writeFileSync(join(folder, name), text);
  const file = (name: keyof typeof TEXTS | 'absent'): string => join(folder, name);
  assert.equal(await readAuthority(file('one.crt')), CERTIFICATE);
  for (const [reading, says] of [
    [() => readPair(file('one.crt'), file('other.key')), /other\.key does not belong to .*one\.crt\.$/],
    [() => readPair(file('tokens.csv'), file('other.key')), /tokens\.csv is not a certificate\.$/],
    [() => readPair(file('one.crt'), file('tokens.csv')), /tokens\.csv is not a private key\.$/],
    [() => readPair(file('one.crt'), file('absent')), /absent cannot be read\.$/],
    [() => readAuthority(file('other.key')), /other\.key is not a certificate\.$/],
  ] as const) {
    await assert.rejects(
      reading(),
      (error) => error instanceof OperatorError && error.exitCode === 2 && says.test(error.message),
    );
  }
});
