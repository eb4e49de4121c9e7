import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeObject } from './envelope.ts';
import { readProtobufIdentity } from './identity.ts';

const read = (object: object) => readProtobufIdentity(encodeObject(object) ?? Buffer.alloc(0));

test('the identity of an object is read without its kind', () => {
  const metadata = { name: 'web', namespace: 'default', uid: 'u-1', resourceVersion: '7', labels: { app: 'web' } };
  const { namespace: _, labels: __, ...told } = metadata;
  assert.deepEqual(read({ apiVersion: 'v1', kind: 'Pod', metadata, spec: { containers: [] } }), { metadata: told });
  const generated = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { generateName: 'web-' }, spec: {} };
  assert.deepEqual(read(generated), { metadata: { generateName: 'web-' } });
});

test('a deletion has preconditions, or none', () => {
  const deletion = { apiVersion: 'v1', kind: 'DeleteOptions', gracePeriodSeconds: 30 };
  assert.deepEqual(read(deletion), {});
  assert.deepEqual(read({ ...deletion, preconditions: { uid: 'u-1' } }), { preconditions: { uid: 'u-1' } });
});

test('another encoding has no identity, and invalid bytes are refused', () => {
  assert.equal(readProtobufIdentity(Buffer.from('{"metadata":{"name":"web"}}')), undefined);
  assert.throws(() => readProtobufIdentity(Buffer.from([0x6b, 0x38, 0x73, 0x00, 0x0a, 0x7f])), { name: 'WireError' });
});
