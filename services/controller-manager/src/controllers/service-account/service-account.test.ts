import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NAMESPACES, type Namespace, SERVICE_ACCOUNTS } from '@holdfast/api';
import fc from 'fast-check';
import { keyOf } from '../../common/meta.ts';
import { createWorld, DrivenController, settleAll } from '../../testing/harness.ts';
import { decide, serviceAccountController } from './index.ts';

const namespace = (name: string, metadata: Namespace['metadata'] = {}): Namespace => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, ...metadata },
  spec: { finalizers: ['kubernetes'] },
  status: { phase: 'Active' },
});

test('every live namespace has its default account, created once and restored', async () => {
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

const lives = fc.constantFrom('living', 'terminating', 'gone');

test('only a live namespace without its service account gets one, and only one', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[a-z]{1,8}$/), lives, fc.boolean(), (name, life, exists) => {
      const ending = life === 'terminating' ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {};
      const of = life === 'gone' ? undefined : namespace(name, ending);
      const existing = {
        apiVersion: 'v1',
        kind: 'ServiceAccount',
        metadata: { namespace: name, name: 'default' },
      } as const;
      const made = decide(of, exists ? existing : undefined);
      assert.deepEqual(made, life === 'living' && !exists ? existing : undefined);
      if (made !== undefined) assert.equal(decide(of, made), undefined, 'no thrash');
    }),
  );
});
