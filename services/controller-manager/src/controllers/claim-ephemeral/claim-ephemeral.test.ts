import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PERSISTENT_VOLUME_CLAIMS, PODS, type Pod } from '@holdfast/api';
import fc from 'fast-check';
import { keyOf } from '../../common/meta.ts';
import { pod } from '../../testing/builders.ts';
import { createWorld, DrivenController } from '../../testing/harness.ts';
import { claim } from '../../testing/volume-builders.ts';
import { claimEphemeralController, decide } from './index.ts';

const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
const volumes = [
  { name: 'scratch', ephemeral: { volumeClaimTemplate: { metadata: { labels: { a: 'b' } }, spec } } },
  { name: 'other', emptyDir: {} },
];
const withScratch = (metadata: Pod['metadata']): Pod => pod(metadata, {}, { volumes });

test('a pod gets its own claim, which is recreated while the pod lives and not for a terminating pod', async () => {
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

test('a claim of another owner is left unchanged', async () => {
  const world = createWorld();
  world.api.put(PERSISTENT_VOLUME_CLAIMS, claim('p-scratch'));
  world.api.put(PODS, withScratch({ name: 'p' }));
  const controller = new DrivenController(world, claimEphemeralController);
  await controller.settle();
  assert.equal(world.api.list(PERSISTENT_VOLUME_CLAIMS)[0]?.metadata.ownerReferences, undefined);
  assert.deepEqual(controller.errors, []);
});

const someVolumes = fc.uniqueArray(
  fc.record({ name: fc.stringMatching(/^[a-z]{1,3}$/), ephemeral: fc.boolean(), taken: fc.boolean() }),
  { selector: ({ name }) => name, maxLength: 6 },
);
const podLife = fc.record({
  terminating: fc.boolean(),
  phase: fc.constantFrom('Pending', 'Running', 'Succeeded', 'Failed'),
});

test('with any volumes: a live pod gets exactly its missing claims, in any order, and none is missing afterwards', () => {
  fc.assert(
    fc.property(someVolumes, podLife, (some, { terminating, phase }) => {
      const metadata = { name: 'p', uid: 'u', ...(terminating ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}) };
      const mounts = some.map(({ name, ephemeral }) =>
        ephemeral
          ? { name, ephemeral: { volumeClaimTemplate: { spec } } }
          : { name, persistentVolumeClaim: { claimName: name } },
      );
      const owner = pod(metadata, { phase }, { volumes: mounts });
      const taken = new Set(some.filter((each) => each.taken).map(({ name }) => `default/p-${name}`));
      const made = decide(owner, (key) => taken.has(key));
      const lives = !terminating && (phase === 'Pending' || phase === 'Running');
      const lacking = lives ? some.filter((each) => each.ephemeral && !each.taken) : [];
      assert.deepEqual(
        made.map(keyOf),
        lacking.map(({ name }) => `default/p-${name}`),
      );
      assert.ok(made.every((each) => each.metadata.ownerReferences?.every(({ uid }) => uid === 'u')));
      const reversed = decide(pod(metadata, { phase }, { volumes: mounts.toReversed() }), (key) => taken.has(key));
      assert.deepEqual(reversed.toReversed(), made);
      const after = new Set([...taken, ...made.map(keyOf)]);
      assert.deepEqual(
        decide(owner, (key) => after.has(key)),
        [],
      );
    }),
  );
});
