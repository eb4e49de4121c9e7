import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OperatorError } from './errors.ts';
import { isLogAddress, readLogAddresses } from './log-address.ts';

test('the addresses of a log are those of all its servers', () => {
  assert.deepEqual(readLogAddresses('tls://a:4222, tls://b:4222,tls://[::1]:4222'), [
    'tls://a:4222',
    'tls://b:4222',
    'tls://[::1]:4222',
  ]);
  assert.deepEqual(['nats://a', 'tls://a', 'redis://a', 'memory'].map(isLogAddress), [true, true, false, false]);
});

for (const [wrong, shown] of [
  ['nats://user:secret@a:4222', 'nats://a:4222'],
  ['nats://a:4222,b:4222', 'nats://a:4222,b:4222'],
  ['tls://a:4222,nats://b:4222', 'tls://a:4222,nats://b:4222'],
  ['nats://', 'nats://'],
] as const) {
  test(`addresses like ${wrong} are refused without a password in the message`, () => {
    assert.throws(
      () => readLogAddresses(wrong),
      (error) => error instanceof OperatorError && error.exitCode === 2 && error.message.endsWith(`not "${shown}"`),
    );
  });
}
