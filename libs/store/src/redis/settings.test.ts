import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { unfitServer, unsafeSettings } from './settings.ts';

const SAFE: readonly (readonly [string, string])[] = [
  ['appendonly', 'yes'],
  ['appendfsync', 'always'],
  ['no-appendfsync-on-rewrite', 'no'],
  ['aof-load-truncated', 'yes'],
  ['maxmemory-policy', 'noeviction'],
  ['save', ''],
  ['io-threads', '1'],
];

test('the required settings are accepted', () => {
  assert.deepEqual(unsafeSettings(new Map(SAFE)), []);
});

for (const [name] of SAFE) {
  test(`[TEST-03] a server is refused when only ${name} is wrong or unreadable`, () => {
    for (const value of ['wrong', undefined]) {
      const config = new Map(SAFE);
      if (value === undefined) config.delete(name);
      else config.set(name, value);
      const wrong = unsafeSettings(config);
      assert.equal(wrong.length, 1);
      assert.match(wrong[0] ?? '', new RegExp(`^${name} `));
    }
  });
}

test('all wrong settings are listed together', () => {
  assert.equal(unsafeSettings(new Map()).length, SAFE.length);
});

test('a replica, a loading server and one with a failed append are refused', () => {
  const info = (role: string, loading: string, status: string): string =>
    `# Server\r\nrole:${role}\r\nloading:${loading}\r\naof_enabled:1\r\naof_last_write_status:${status}\r\n`;
  assert.deepEqual(unfitServer(info('master', '0', 'ok')), []);
  assert.equal(unfitServer(info('slave', '1', 'err')).length, 3);
  const ofVersion = (version: string): string[] =>
    unfitServer(`redis_version:${version}\r\n${info('master', '0', 'ok')}`);
  assert.deepEqual([ofVersion('7.0.15'), ofVersion('10.1.0')], [[], []]);
  assert.deepEqual(ofVersion('6.2.14'), ['the server is Redis 6.2.14 and must be 7 or newer']);
});
