import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readBusAddress } from './bus-address.ts';
import { OperatorError } from './errors.ts';

for (const [text, address] of [
  ['nats://127.0.0.1:4222', { server: 'nats://127.0.0.1:4222' }],
  ['tls://nats', { server: 'tls://nats' }],
  ['nats:4222', { server: 'nats://nats:4222' }],
  ['nats://[::1]:4222/', { server: 'nats://[::1]:4222' }],
  ['nats://me:sec%2Fret@nats:4222', { server: 'nats://nats:4222', user: 'me', password: 'sec/ret' }],
] as const) {
  test(`${text} is the address of a NATS server`, () => assert.deepEqual(readBusAddress(text), address));
}

for (const [wrong, shown] of [
  ['http://me:secret@nats:4222', 'http://nats:4222'],
  ['nats://nats:99999', 'nats://nats:99999'],
  ['nats://me:sec/ret@nats:4222', 'nats://nats:4222'],
  ['nats://me:sec%ret@nats:4222', 'nats://nats:4222'],
  ['nats://', 'nats://'],
  ['', ''],
] as const) {
  test(`an invalid bus address ${JSON.stringify(wrong)} is reported without its password`, () => {
    assert.throws(
      () => readBusAddress(wrong),
      (error) =>
        error instanceof OperatorError &&
        error.exitCode === 2 &&
        error.message === `--bus takes nats://host:port or tls://host:port, not "${shown}"`,
    );
  });
}
