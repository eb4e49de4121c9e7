import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CONFIG_MAPS, PODS, SECRETS } from '@holdfast/api';
import { SHARED_MESSAGE_CHARACTERS_MAX } from '../limits.ts';
import { decodeChange } from './decode-message.ts';

const message = (name: string, payload = ''): string =>
  JSON.stringify({ type: 'ADDED', object: { metadata: { name }, data: { payload } } });

test('informers of one process share what they read of a message, and cannot alter it', () => {
  const first = decodeChange(CONFIG_MAPS, message('a'));
  assert.equal(decodeChange(CONFIG_MAPS, message('a')).object, first.object);
  assert.ok(Object.isFrozen(first.object) && Object.isFrozen(first.object?.metadata));
  assert.notEqual(decodeChange(CONFIG_MAPS, message('b')).object, first.object);
});

test('the same text of another kind is read for that kind', () => {
  assert.equal(decodeChange(CONFIG_MAPS, message('c')).object?.kind, 'ConfigMap');
  assert.equal(decodeChange(SECRETS, message('c')).object?.kind, 'Secret');
  assert.equal(decodeChange(PODS, message('c')).object?.kind, 'Pod');
});

test('long messages are not kept', () => {
  const long = message('d', 'x'.repeat(SHARED_MESSAGE_CHARACTERS_MAX));
  assert.notEqual(decodeChange(CONFIG_MAPS, long).object, decodeChange(CONFIG_MAPS, long).object);
});
