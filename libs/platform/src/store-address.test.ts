import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OperatorError } from './errors.ts';
import { readStoreAddress, withoutCredentials } from './store-address.ts';

const FORMS = 'redis://host:port or memory';

for (const address of [
  'redis://redis:6379',
  'rediss://user:secret@redis:6379/0',
  'redis://user:sec%2Fret@redis',
  'redis://127.0.0.1',
]) {
  test(`${address} is the address of a Redis`, () => assert.equal(readStoreAddress(address, FORMS), address));
}

for (const [wrong, shown] of [
  ['http://user:secret@redis:6379', 'http://redis:6379'],
  ['redis:/user:secret@redis:6379', 'redis:6379'],
  ['redis:///user:secret@redis', 'redis://redis'],
  ['user:sec@ret/secret@redis', 'redis'],
  ['redis://user:sec/ret@redis', 'redis://redis'],
  ['redis://user:sec%ret@redis', 'redis://redis'],
  ['redis:redis?password=secret', 'redis:redis'],
  ['', ''],
] as const) {
  test(`an invalid address ${JSON.stringify(wrong)} is reported without its password`, () => {
    assert.throws(
      () => readStoreAddress(wrong, FORMS),
      (error) =>
        error instanceof OperatorError &&
        error.exitCode === 2 &&
        error.message === `--store takes ${FORMS}, not "${shown}"`,
    );
  });
}

test('a printed address contains no part of a password with special characters', () => {
  for (const password of ['secret', 'sec/ret', 'sec@ret', 'sec?ret', 'sec\nret'])
    assert.equal(withoutCredentials(`redis://user:${password}@redis:6379/0`), 'redis://redis:6379/0');
});
