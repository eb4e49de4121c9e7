import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { readSettings } from '@holdfast/platform/config';
import { parse } from 'yaml';
import { APISERVER_SETTINGS } from '../config.ts';
import { AUDIT_SETTINGS, readAuditConfig } from './settings.ts';

interface Compose {
  readonly services: Readonly<Record<string, { readonly environment: Readonly<Record<string, string>> }>>;
}

const OPTIONAL = [...Object.keys(AUDIT_SETTINGS), 'encryption-provider-config'];
const variableOf = (setting: string): string => `HOLDFAST_${setting.toUpperCase().replaceAll('-', '_')}`;

const compose = parse(readFileSync(new URL('../../../../docker-compose.yml', import.meta.url), 'utf8'), {
  merge: true,
  maxAliasCount: -1,
}) as Compose;

test('the API servers of compose take the settings of audit and encryption from variables, off when these are empty', () => {
  for (const name of ['apiserver-1', 'apiserver-2']) {
    const environment = compose.services[name]?.environment ?? {};
    for (const setting of OPTIONAL) {
      const variable = variableOf(setting);
      assert.ok(Object.hasOwn(APISERVER_SETTINGS, setting), setting);
      assert.equal(environment[variable], `\${${variable}:-}`);
    }
  }
  const env = Object.fromEntries(OPTIONAL.map((setting) => [variableOf(setting), '']));
  const settings = readSettings(APISERVER_SETTINGS, { argv: [], env });
  assert.equal(readAuditConfig(settings), undefined);
  assert.equal(settings['encryption-provider-config'], undefined);
});
