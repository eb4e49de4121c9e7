import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  CONFIG_MAPS,
  type ConfigMap,
  countedKinds,
  PODS,
  type Pod,
  RESOURCE_QUOTAS,
  type ResourceQuota,
} from '@holdfast/api';
import fc from 'fast-check';
import { QUOTA_RECOUNT_INTERVAL_MS, QUOTA_RESYNC_MS } from '../../limits.ts';
import { pod } from '../../testing/builders.ts';
import { createWorld, DrivenController, type World } from '../../testing/harness.ts';
import { decide, type Found } from './decide.ts';
import { resourceQuotaController } from './index.ts';

const controller = resourceQuotaController({ resources: [PODS, CONFIG_MAPS] });

const quota = (hard: Record<string, string>, spec: Partial<ResourceQuota['spec']> = {}): ResourceQuota => ({
  apiVersion: 'v1',
  kind: 'ResourceQuota',
  metadata: { name: 'q', namespace: 'default' },
  spec: { hard, ...spec },
  status: {},
});
const configMap = (name: string): ConfigMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { namespace: 'default', name },
});

const statusOf = (world: World): ResourceQuota['status'] =>
  world.api.get(RESOURCE_QUOTAS, { namespace: 'default', name: 'q' }).status;

/** Lets the queue's timers come, pass by pass, until a resync is the next thing due. */
async function settle(world: World, driven: DrivenController): Promise<void> {
  for (let round = 0; round < 5; round++) {
    await driven.settle();
    world.clock.skip(QUOTA_RECOUNT_INTERVAL_MS);
  }
  await driven.settle();
  assert.deepEqual(driven.errors, []);
}

describe('resource quota controller', () => {
  test('counts existing objects when a quota is new or changed', async () => {
    const world = createWorld();
    world.api.put(PODS, pod({ name: 'a' }));
    world.api.put(PODS, pod({ name: 'done' }, { phase: 'Succeeded' }));
    world.api.put(CONFIG_MAPS, configMap('c'));
    world.api.put(RESOURCE_QUOTAS, quota({ pods: '5', 'count/pods': '5', configmaps: '2', secrets: '1' }));
    const driven = new DrivenController(world, controller);
    await settle(world, driven);
    assert.deepEqual(statusOf(world), {
      hard: { pods: '5', 'count/pods': '5', configmaps: '2', secrets: '1' },
      used: { pods: '1', 'count/pods': '2', configmaps: '1' },
    });
    world.api.put(RESOURCE_QUOTAS, { ...quota({ pods: '7' }), status: statusOf(world) });
    await settle(world, driven);
    assert.deepEqual(statusOf(world), { hard: { pods: '7' }, used: { pods: '1' } });
  });

  test('counts only objects in its scopes', async () => {
    const world = createWorld();
    world.api.put(PODS, pod({ name: 'a' }, {}, { activeDeadlineSeconds: 5 }));
    world.api.put(PODS, pod({ name: 'b' }));
    world.api.put(RESOURCE_QUOTAS, quota({ pods: '5' }, { scopes: ['NotTerminating'] }));
    await settle(world, new DrivenController(world, controller));
    assert.deepEqual(statusOf(world).used, { pods: '1' });
  });

  test('releases deleted and finished objects', async () => {
    const world = createWorld();
    for (const name of ['a', 'b', 'c']) world.api.put(PODS, pod({ name }));
    world.api.put(RESOURCE_QUOTAS, quota({ pods: '5' }));
    const driven = new DrivenController(world, controller);
    await settle(world, driven);
    world.api.drop(PODS, { namespace: 'default', name: 'a' });
    world.api.put(PODS, pod({ name: 'b' }, { phase: 'Failed' }));
    await settle(world, driven);
    assert.deepEqual(statusOf(world).used, { pods: '1' });
  });

  test('many deletions cause few recounts', async () => {
    const world = createWorld();
    for (let i = 0; i < 50; i++) world.api.put(PODS, pod({ name: `p${i}` }));
    world.api.put(RESOURCE_QUOTAS, quota({ pods: '99' }));
    const driven = new DrivenController(world, controller);
    await settle(world, driven);
    const before = world.api.writes.length;
    for (let i = 0; i < 50; i++) {
      world.api.drop(PODS, { namespace: 'default', name: `p${i}` });
      await driven.settle();
    }
    await settle(world, driven);
    assert.deepEqual(statusOf(world).used, { pods: '0' });
    assert.ok(world.api.writes.length - before <= 2, `${world.api.writes.length - before} writes`);
  });

  test('usage admitted between the count and the write is counted again', async () => {
    const world = createWorld();
    world.api.put(RESOURCE_QUOTAS, quota({ pods: '5' }));
    let late = false;
    world.api.beforeWrite = () => {
      if (late) return;
      late = true;
      world.api.put(PODS, pod({ name: 'late' }));
    };
    await settle(world, new DrivenController(world, controller));
    assert.deepEqual(statusOf(world).used, { pods: '1' });
  });

  test('a concurrent admission is not overwritten', async () => {
    const world = createWorld();
    world.api.put(RESOURCE_QUOTAS, { ...quota({ pods: '5' }), status: { hard: { pods: '5' }, used: { pods: '3' } } });
    const driven = new DrivenController(world, controller);
    let admitted = false;
    world.api.beforeWrite = () => {
      if (admitted) return;
      admitted = true;
      world.api.put(PODS, pod({ name: 'new' }));
      const now = world.api.get(RESOURCE_QUOTAS, { namespace: 'default', name: 'q' });
      world.api.put(RESOURCE_QUOTAS, { ...now, status: { ...now.status, used: { pods: '4' } } });
    };
    await settle(world, driven);
    assert.deepEqual(statusOf(world).used, { pods: '1' });
  });

  test('every quota is recounted periodically', async () => {
    const world = createWorld();
    world.api.put(RESOURCE_QUOTAS, quota({ pods: '5' }));
    const driven = new DrivenController(world, controller);
    await settle(world, driven);
    world.api.put(RESOURCE_QUOTAS, { ...quota({ pods: '5' }), status: { hard: { pods: '5' }, used: { pods: '4' } } });
    await driven.settle();
    assert.deepEqual(statusOf(world).used, { pods: '4' });
    world.clock.skip(QUOTA_RESYNC_MS);
    await driven.settle();
    assert.deepEqual(statusOf(world).used, { pods: '0' });
  });
});

const podState = fc.record({
  phase: fc.constantFrom('Pending', 'Running', 'Succeeded', 'Failed'),
  millis: fc.nat(3_000),
});
const requesting = ({ phase, millis }: { readonly phase: string; readonly millis: number }, i: number): Pod => {
  const resources = { requests: { cpu: `${millis}m` } };
  return pod({ name: `p${i}` }, { phase }, { containers: [{ name: 'main', image: 'web:1', resources }] });
};
const names = fc.uniqueArray(fc.constantFrom('pods', 'requests.cpu', 'count/pods', 'configmaps', 'example.com/chips'));
const hardOf = (some: readonly string[]): Record<string, string> => Object.fromEntries(some.map((name) => [name, '5']));
const count = fc.record({
  wanted: names,
  known: names,
  states: fc.array(podState, { maxLength: 8 }),
  configMaps: fc.nat(4),
  usedBefore: fc.nat(9),
});

test('with any objects: the status has the hard limits and their use, in any order, and a second count writes nothing', () => {
  fc.assert(
    fc.property(count, ({ wanted, known, states, configMaps, usedBefore }) => {
      const used = Object.fromEntries(known.map((name) => [name, `${usedBefore}`]));
      const before: ResourceQuota = { ...quota(hardOf(wanted)), status: { hard: hardOf(known), used } };
      const objects = {
        pods: states.map(requesting),
        configmaps: Array.from({ length: configMaps }, (_, i) => configMap(`c${i}`)),
      };
      const found: Found = countedKinds(before, [PODS, CONFIG_MAPS]).map((kind) => ({
        kind,
        objects: kind.resource.plural === 'pods' ? objects.pods : objects.configmaps,
      }));
      const action = decide(before, found, 0);
      const after = action?.quota ?? before;
      assert.deepEqual([after.metadata, after.spec], [before.metadata, before.spec]);
      assert.deepEqual(after.status.hard, before.spec.hard);
      const charged = states.filter(({ phase }) => phase === 'Pending' || phase === 'Running');
      const cores = charged.reduce((sum, { millis }) => sum + millis, 0);
      const figures: Readonly<Record<string, number>> = {
        pods: charged.length,
        'requests.cpu': cores / 1_000,
        'count/pods': states.length,
        configmaps: configMaps,
      };
      const counted = Object.entries(after.status.used ?? {}).map(([name, amount]) => [name, toNumber(amount)]);
      const expected = wanted.filter((name) => name in figures).map((name) => [name, figures[name]]);
      assert.deepEqual(Object.fromEntries(counted), Object.fromEntries(expected));
      if (action !== undefined)
        assert.equal(
          action.countAgain,
          wanted.some((name) => !known.includes(name)),
        );
      const turned = found.toReversed().map((each) => ({ ...each, objects: each.objects.toReversed() }));
      assert.deepEqual(decide(before, turned, 0), action);
      assert.equal(decide(after, turned, 0), undefined, 'no thrash');
    }),
  );
});

const toNumber = (amount: string): number =>
  amount.endsWith('m') ? Number(amount.slice(0, -1)) / 1_000 : Number(amount);
