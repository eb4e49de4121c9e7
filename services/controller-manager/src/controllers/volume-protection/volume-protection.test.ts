import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PERSISTENT_VOLUMES, VOLUME_FINALIZER } from '@holdfast/api';
import fc from 'fast-check';
import { createWorld, DrivenController } from '../../testing/harness.ts';
import { volume } from '../../testing/volume-builders.ts';
import { decide, volumeProtectionController } from './index.ts';

test('a bound or attached volume stays until it is neither', async () => {
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

test('with any state of a volume: its finalizer is removed only when nothing uses it, foreign finalizers stay, and a second pass writes nothing', () => {
  const state = fc.record({
    finalizers: fc.uniqueArray(fc.constantFrom(VOLUME_FINALIZER, 'example.com/backup', 'example.com/audit')),
    terminating: fc.boolean(),
    phase: fc.constantFrom('Pending', 'Available', 'Bound', 'Released', 'Failed'),
    attached: fc.boolean(),
  });
  fc.assert(
    fc.property(state, ({ finalizers, terminating, phase, attached }) => {
      const going = terminating ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {};
      const attachment = attached ? { attachment: { nodeName: 'a', nodeUID: 'u' } } : {};
      const before = { ...volume('v', {}, { finalizers, ...going }), status: { phase, ...attachment } };
      const after = decide(before) ?? before;
      const left = after.metadata.finalizers ?? [];
      const others = (names: readonly string[]) => names.filter((name) => name !== VOLUME_FINALIZER);
      assert.deepEqual(others(left), others(finalizers));
      const isFree = terminating && phase !== 'Bound' && !attached;
      // An object that is being deleted gets no protection that it did not have.
      assert.equal(left.includes(VOLUME_FINALIZER), !isFree && (!terminating || finalizers.includes(VOLUME_FINALIZER)));
      assert.deepEqual([after.spec, after.status], [before.spec, before.status]);
      assert.equal(decide(after), undefined, 'no thrash');
    }),
  );
});
