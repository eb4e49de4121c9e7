import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PERSISTENT_VOLUME_CLAIMS, PODS, type Pod } from '@holdfast/api';
import { pod } from '../../testing/builders.ts';
import { createWorld, DrivenController } from '../../testing/harness.ts';
import { claim } from '../../testing/volume-builders.ts';
import { CLAIM_FINALIZER, claimProtectionController } from './index.ts';

const C = { namespace: 'default', name: 'c' };
const user = (name: string, nodeName?: string): Pod => {
  const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'c' } }];
  return pod({ name }, { phase: 'Running' }, { volumes, ...(nodeName === undefined ? {} : { nodeName }) });
};

test('a claim goes when the last pod that uses it on a node is gone', async () => {
  const world = createWorld();
  const controller = new DrivenController(world, claimProtectionController);
  world.api.put(PERSISTENT_VOLUME_CLAIMS, claim('c', {}, { finalizers: [] }));
  world.api.put(PODS, user('uses', 'node-a'));
  world.api.put(PODS, user('unplaced'));
  await controller.settle();
  const protectedClaim = world.api.get(PERSISTENT_VOLUME_CLAIMS, C);
  assert.deepEqual(protectedClaim.metadata.finalizers, [CLAIM_FINALIZER]);
  await world.api.client('user').delete(PERSISTENT_VOLUME_CLAIMS, C);
  await controller.settle();
  assert.ok(world.api.find(PERSISTENT_VOLUME_CLAIMS, C));
  world.api.drop(PODS, { namespace: 'default', name: 'uses' });
  await controller.settle();
  assert.equal(world.api.find(PERSISTENT_VOLUME_CLAIMS, C), undefined);
  assert.deepEqual(controller.errors, []);
});

test('a pod that the cache does not show yet keeps its claim', async () => {
  const world = createWorld();
  world.api.put(PERSISTENT_VOLUME_CLAIMS, claim('c'));
  const controller = new DrivenController(world, claimProtectionController);
  world.api.cache(PODS).freeze();
  world.api.put(PODS, user('uses', 'node-a'));
  await world.api.client('user').delete(PERSISTENT_VOLUME_CLAIMS, C);
  await controller.settle();
  assert.ok(world.api.find(PERSISTENT_VOLUME_CLAIMS, C));
  world.api.cache(PODS).thaw();
  world.api.drop(PODS, { namespace: 'default', name: 'uses' });
  await controller.settle();
  assert.equal(world.api.find(PERSISTENT_VOLUME_CLAIMS, C), undefined);
});
