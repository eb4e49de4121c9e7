import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { unreachableError } from './open-errors.ts';

test('redis: a server that closes the connection is reported with an operator message, without the password', () => {
  const cause = new Error("Stream isn't writeable and enableOfflineQueue options is false");
  assert.equal(
    unreachableError('redis://:secret@web:80', cause).message,
    'Redis at redis://web:80 cannot be used: the connection was closed at once; a server that requires TLS closes connections like this: try rediss://',
  );
});
