import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PERSISTENT_VOLUMES } from '@holdfast/api';
import { createWorld, DrivenController } from '../../testing/harness.ts';
import { volume } from '../../testing/volume-builders.ts';
import { VOLUME_FINALIZER, volumeProtectionController } from './index.ts';

test('a volume that is bound or attached stays until it is neither', async () => {
  const world = createWorld();
  const controller = new DrivenController(world, volumeProtectionController);
  const bound = { ...volume('v', {}, { finalizers: [] }), status: { phase: 'Bound' } };
  world.api.put(PERSISTENT_VOLUMES, bound);
  await controller.settle();
  assert.deepEqual(world.api.get(PERSISTENT_VOLUMES, { name: 'v' }).metadata.finalizers, [VOLUME_FINALIZER]);
  await world.api.client('user').delete(PERSISTENT_VOLUMES, { name: 'v' });
  await controller.settle();
  const held = world.api.get(PERSISTENT_VOLUMES, { name: 'v' });
  const attachment = { nodeName: 'a', nodeUID: 'u' };
  const attached = world.api.put(PERSISTENT_VOLUMES, { ...held, status: { phase: 'Released', attachment } });
  await controller.settle();
  assert.ok(world.api.find(PERSISTENT_VOLUMES, { name: 'v' }), 'a node may still be writing to it');
  world.api.put(PERSISTENT_VOLUMES, { ...attached, status: { phase: 'Released' } });
  await controller.settle();
  assert.equal(world.api.find(PERSISTENT_VOLUMES, { name: 'v' }), undefined);
  assert.deepEqual(controller.errors, []);
});
