import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { createSilentLog } from '@holdfast/platform';
import { WriteTooLarge } from '@holdfast/store';
import { errorAnswer, isFault } from './answers.ts';

test('an object that the store can never hold is answered as too large, not as a failure to repeat', () => {
  const thrown = new WriteTooLarge('a write of 9 bytes is larger than a message may be');
  const { status, headers, body } = errorAnswer(thrown, createSilentLog());
  assert.equal(status, 413);
  assert.equal(headers['retry-after'], undefined);
  assert.match(body.kind === 'json' ? Buffer.from(body.bytes()).toString() : '', /"reason":"RequestEntityTooLarge"/);
  assert.equal(isFault(thrown), false);
});
