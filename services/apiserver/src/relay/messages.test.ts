import assert from 'node:assert/strict';
import { test } from 'node:test';
import { objectKey } from '@holdfast/store';
import { describeChange } from './describe.ts';
import { ChangeMessage } from './messages.ts';

test('a message retains none of the text that it does not carry', () => {
  const change = {
    key: objectKey({ group: '', resource: 'secrets', namespace: 'ns', name: 'a' }),
    revision: 7,
    previousRevision: 0,
    kind: 'created' as const,
    get value(): string {
      return assert.fail('the content was taken');
    },
  };
  const place = { subject: 'k8s.ev.obj.core.secrets.ns.a', previous: 0 };
  const message = new ChangeMessage(change, place, { described: describeChange(change), read: () => assert.fail() });
  assert.deepEqual(JSON.parse(message.data), { type: 'ADDED', revision: 7, key: change.key });
  assert.equal(message.shared.object(), undefined);
});

test('a short change message has no object', () => {
  const key = objectKey({ group: 'apps', resource: 'deployments', namespace: 'ns', name: 'a' });
  const value = '{"metadata":{"name":"a"}}';
  const change = { key, revision: 7, previousRevision: 0, kind: 'created' as const, value };
  const place = { subject: 'k8s.ev.obj.apps.deployments.ns.a', previous: 0 };
  const message = new ChangeMessage(change, place, { described: describeChange(change), read: () => assert.fail() });
  const said = { type: 'ADDED', revision: 7, key };
  assert.deepEqual(JSON.parse(message.brief), said);
  const object = { metadata: { resourceVersion: '7', name: 'a' } };
  assert.deepEqual(JSON.parse(message.data), { ...said, object });
});
