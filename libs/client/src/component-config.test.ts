import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { rootCertificates } from 'node:tls';
import { createSilentLog, createSystemClock, OperatorError } from '@holdfast/platform';
import { readSettings } from '@holdfast/platform/config';
import { COMPONENT_SETTINGS, connectComponent } from './component-config.ts';

const TOOLS = { clock: createSystemClock(), log: createSilentLog(), userAgent: 'test' };
const SOUND = {
  'api-servers': 'https://127.0.0.1:1',
  'ca-file': rootCertificates[0] ?? '',
  'token-file': 'abc.DEF-1\n',
};

/** Takes `api-servers` as it is and writes the other values to files. */
async function connect(folder: string, settings: typeof SOUND): Promise<void> {
  const argv = Object.entries(settings).map(([name, text]) => {
    if (name === 'api-servers') return `--${name}=${text}`;
    const file = path.join(folder, name);
    writeFileSync(file, text);
    return `--${name}=${file}`;
  });
  const connection = await connectComponent(readSettings(COMPONENT_SETTINGS, { argv, env: {} }), TOOLS);
  await connection.close();
}

test('the API settings of a component are checked before it starts', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-component-config-'));
  t.after(() => rmSync(folder, { recursive: true }));
  await connect(folder, SOUND);
  for (const [wrong, says] of [
    [{ 'api-servers': 'apiserver:6443' }, /"apiserver:6443" is not the address of an API server/],
    [{ 'ca-file': 'no certificate' }, /--ca-file, .*, is not a certificate/],
    [{ 'token-file': '' }, /--token-file, .*, holds no token/],
    [{ 'token-file': 'one,admin\ntwo,node\n' }, /--token-file, .*, holds no token/],
  ] as const) {
    await assert.rejects(
      connect(folder, { ...SOUND, ...wrong }),
      (error) => error instanceof OperatorError && error.exitCode === 2 && says.test(error.message),
    );
  }
});
