import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CONFIG_MAPS, type KubeObject, PODS, type ResourceRef, SECRETS } from '@holdfast/api';
import type { BusMessage } from '@holdfast/bus';
import { decodeObject } from '../decode.ts';
import { SHARED_MESSAGE_CHARACTERS_MAX } from '../limits.ts';
import { decodeChange } from './decode-message.ts';

const message = (name: string, payload = ''): BusMessage => ({
  subject: 'any',
  revision: 7,
  previous: undefined,
  data: JSON.stringify({ type: 'ADDED', object: { metadata: { name }, data: { payload } } }),
});
const objectIn = (resource: ResourceRef, of: BusMessage): KubeObject =>
  decodeObject(resource, decodeChange(resource, of).object());

test('informers of one process share decoded messages and cannot change them', () => {
  const first = objectIn(CONFIG_MAPS, message('a'));
  assert.equal(objectIn(CONFIG_MAPS, message('a')), first);
  assert.ok(Object.isFrozen(first) && Object.isFrozen(first.metadata));
  assert.notEqual(objectIn(CONFIG_MAPS, message('b')), first);
});

test('the same text of another kind is decoded for that kind', () => {
  assert.equal(objectIn(CONFIG_MAPS, message('c')).kind, 'ConfigMap');
  assert.equal(objectIn(SECRETS, message('c')).kind, 'Secret');
  assert.equal(objectIn(PODS, message('c')).kind, 'Pod');
});

test('long messages are not cached', () => {
  const long = message('d', 'x'.repeat(SHARED_MESSAGE_CHARACTERS_MAX));
  assert.notEqual(objectIn(CONFIG_MAPS, long), objectIn(CONFIG_MAPS, long));
});
