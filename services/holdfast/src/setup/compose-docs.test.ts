import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { RESTORE } from '../client/commands/restore.ts';
import { STORE } from '../client/commands/store.ts';
import { redisConfig } from './redis-config.ts';

const read = (file: string): string => readFileSync(new URL(`../../../../${file}`, import.meta.url), 'utf8');

const compose = parse(read('docker-compose.yml'), { merge: true, maxAliasCount: -1 }) as {
  readonly services: Readonly<Record<string, unknown>>;
};
const commands = ['recovery', 'encryption', 'audit'].flatMap((page) =>
  read(`docs/${page}.md`)
    .split('\n')
    .filter((line) => /^ {4}docker compose /.test(line))
    .map((line) => line.replace(/ +#.*$/, '').trim()),
);

/** Three zones need further flags. */
function flagsOfZones(): readonly string[] {
  const line = read('docs/recovery.md')
    .split('\n')
    .find((each) => each.startsWith('    --store-user '));
  const flags = line?.match(/(?<=--)[a-z-]+/g) ?? [];
  assert.ok(flags.length > 1);
  return flags;
}

test('docs: the commands for compose name services of the file, and flags that the commands have', () => {
  const named = commands.flatMap((line) => {
    const [, verb = '', rest = ''] = /^docker compose (\S+) ?(.*)$/.exec(line) ?? [];
    const words = rest.split(' ').filter((word) => !word.startsWith('--') && word !== '');
    return ['run', 'exec'].includes(verb) ? words.slice(0, 1) : words;
  });
  assert.ok(named.includes('redis') && named.includes('apiserver-1'));
  for (const name of named) assert.ok(Object.hasOwn(compose.services, name), name);
  for (const [words, command] of [
    ['store adopt', STORE],
    ['restore', RESTORE],
  ] as const) {
    const line = commands.find((each) => each.includes(`main.ts ${words} `)) ?? '';
    const flags = line.slice(line.indexOf('main.ts')).match(/(?<=--)[a-z-]+/g) ?? [];
    assert.ok(flags.length > 1, words);
    for (const flag of [...flags, ...flagsOfZones()]) assert.ok(Object.hasOwn(command.settings, flag), flag);
  }
});

test('docs: the command for Redis finds the password of its operator in the configuration', (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-compose-docs-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = path.join(folder, 'redis.conf');
  const tls = { certFile: 'a', keyFile: 'b', caFile: 'c' };
  writeFileSync(file, redisConfig({ port: 1, directory: '/data', password: 'other', operatorPassword: 'a-b_C9', tls }));
  const [, script = ''] = /sed -n "([^"]+)"/.exec(commands.find((line) => line.includes('redis-cli')) ?? '') ?? [];
  assert.equal(execFileSync('sed', ['-n', script, file], { encoding: 'utf8' }), 'a-b_C9\n');
});
