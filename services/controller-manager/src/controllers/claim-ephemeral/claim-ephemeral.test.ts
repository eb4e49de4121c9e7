import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PERSISTENT_VOLUME_CLAIMS, PODS, type Pod } from '@holdfast/api';
import { pod } from '../../testing/builders.ts';
import { createWorld, DrivenController } from '../../testing/harness.ts';
import { claim } from '../../testing/volume-builders.ts';
import { claimEphemeralController } from './index.ts';

const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
const volumes = [
  { name: 'scratch', ephemeral: { volumeClaimTemplate: { metadata: { labels: { a: 'b' } }, spec } } },
  { name: 'other', emptyDir: {} },
];
const withScratch = (metadata: Pod['metadata']): Pod => pod(metadata, {}, { volumes });

test('a pod gets a claim of its own, which comes back while the pod lives and is not made for one that goes', async () => {
  const world = createWorld();
  const controller = new DrivenController(world, claimEphemeralController);
  const { metadata } = world.api.put(PODS, withScratch({ name: 'p' }));
  world.api.put(PODS, withScratch({ name: 'going', deletionTimestamp: '2026-01-01T00:00:00Z' }));
  await controller.settle();
  const [made, ...others] = world.api.list(PERSISTENT_VOLUME_CLAIMS);
  assert.deepEqual(
    [made?.metadata.name, made?.metadata.labels, made?.spec, others],
    ['p-scratch', { a: 'b' }, spec, []],
  );
  assert.deepEqual(
    made?.metadata.ownerReferences?.map(({ kind, uid, controller: isController }) => [kind, uid, isController]),
    [['Pod', metadata.uid, true]],
  );
  world.api.drop(PERSISTENT_VOLUME_CLAIMS, { namespace: 'default', name: 'p-scratch' });
  await controller.settle();
  assert.equal(world.api.list(PERSISTENT_VOLUME_CLAIMS).length, 1);
  assert.deepEqual(controller.errors, []);
});

test('a claim of somebody else is left alone', async () => {
  const world = createWorld();
  world.api.put(PERSISTENT_VOLUME_CLAIMS, claim('p-scratch'));
  world.api.put(PODS, withScratch({ name: 'p' }));
  const controller = new DrivenController(world, claimEphemeralController);
  await controller.settle();
  assert.equal(world.api.list(PERSISTENT_VOLUME_CLAIMS)[0]?.metadata.ownerReferences, undefined);
  assert.deepEqual(controller.errors, []);
});
