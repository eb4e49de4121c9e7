import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CLAIM_FINALIZER, PERSISTENT_VOLUME_CLAIMS, PODS, type Pod } from '@holdfast/api';
import fc from 'fast-check';
import { pod } from '../../testing/builders.ts';
import { createWorld, DrivenController } from '../../testing/harness.ts';
import { claim } from '../../testing/volume-builders.ts';
import { claimProtectionController, decide } from './index.ts';

const C = { namespace: 'default', name: 'c' };
const user = (name: string, nodeName?: string): Pod => {
  const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'c' } }];
  return pod({ name }, { phase: 'Running' }, { volumes, ...(nodeName === undefined ? {} : { nodeName }) });
};

test('a claim is removed when the last pod on a node that uses it is gone', async () => {
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

const somePods = fc.array(
  fc.record({
    namespace: fc.constantFrom('default', 'other'),
    claimName: fc.constantFrom('c', 'd'),
    placed: fc.boolean(),
  }),
  { maxLength: 4 },
);
const finalizers = fc.uniqueArray(fc.constantFrom(CLAIM_FINALIZER, 'example.com/a', 'example.com/b'));

test('with any pods: protection ends only with the last user, other finalizers stay, and a second pass changes nothing', () => {
  fc.assert(
    fc.property(somePods, finalizers, fc.boolean(), (some, marks, terminating) => {
      const going = terminating ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {};
      const before = claim('c', {}, { finalizers: marks, ...going });
      const pods = some.map(({ namespace, claimName, placed }, n) => {
        const volumes = [{ name: 'data', persistentVolumeClaim: { claimName } }];
        return pod({ namespace, name: `p${n}` }, {}, { volumes, ...(placed ? { nodeName: 'node-a' } : {}) });
      });
      const after = decide(before, pods) ?? before;
      const left = after.metadata.finalizers ?? [];
      const used = some.some((each) => each.namespace === 'default' && each.claimName === 'c' && each.placed);
      const isProtected = marks.includes(CLAIM_FINALIZER);
      assert.equal(left.includes(CLAIM_FINALIZER), terminating ? isProtected && used : true);
      const others = (all: readonly string[]): readonly string[] => all.filter((each) => each !== CLAIM_FINALIZER);
      assert.deepEqual(others(left), others(marks));
      assert.deepEqual(decide(before, pods.toReversed()) ?? before, after);
      assert.equal(decide(after, pods), undefined, 'no thrash');
    }),
  );
});
