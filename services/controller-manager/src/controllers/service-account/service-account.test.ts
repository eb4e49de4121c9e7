import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NAMESPACES, type Namespace, SERVICE_ACCOUNTS } from '@holdfast/api';
import { keyOf } from '../../common/meta.ts';
import { createWorld, DrivenController, settleAll } from '../../testing/harness.ts';
import { serviceAccountController } from './index.ts';

const namespace = (name: string, metadata: Namespace['metadata'] = {}): Namespace => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, ...metadata },
  spec: { finalizers: ['kubernetes'] },
  status: { phase: 'Active' },
});

test('every living namespace has its default account, made once and made again', async () => {
  const world = createWorld();
  world.api.put(NAMESPACES, namespace('a'));
  world.api.put(NAMESPACES, namespace('ending', { deletionTimestamp: '2026-01-01T00:00:00Z' }));
  const controllers = [
    new DrivenController(world, serviceAccountController),
    new DrivenController(world, serviceAccountController, world.api.newInformers()),
  ];
  await settleAll(controllers);
  world.api.put(NAMESPACES, namespace('b'));
  await settleAll(controllers);
  const accounts = (): readonly string[] => world.api.list(SERVICE_ACCOUNTS).map(keyOf);
  assert.deepEqual(accounts(), ['a/default', 'b/default']);
  world.api.drop(SERVICE_ACCOUNTS, { namespace: 'a', name: 'default' });
  await settleAll(controllers);
  assert.deepEqual(accounts(), ['b/default', 'a/default']);
  assert.equal(world.api.writes.length, 3);
});
