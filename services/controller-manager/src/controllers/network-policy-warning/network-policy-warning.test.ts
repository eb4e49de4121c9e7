import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NETWORK_POLICIES, type NetworkPolicy } from '@holdfast/api';
import { createWorld, DrivenController } from '../../testing/harness.ts';
import { networkPolicyWarningController } from './index.ts';

const policy = (name: string): NetworkPolicy => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { namespace: 'default', name },
  spec: { podSelector: {} },
});

test('each policy gets one warning, and changes of it none', async () => {
  const world = createWorld();
  world.api.put(NETWORK_POLICIES, policy('early'));
  const controller = new DrivenController(world, networkPolicyWarningController);
  await controller.settle();
  world.api.put(NETWORK_POLICIES, policy('late'));
  await controller.settle();
  const early = world.api.get(NETWORK_POLICIES, { namespace: 'default', name: 'early' });
  world.api.put(NETWORK_POLICIES, { ...early, spec: { podSelector: { matchLabels: { a: 'b' } } } });
  await controller.settle();
  assert.deepEqual(
    world.api.events.map(({ about, reason }) => [about, reason]),
    [
      ['early', 'PolicyNotEnforced'],
      ['late', 'PolicyNotEnforced'],
    ],
  );
  assert.deepEqual([world.api.writes.length, controller.errors], [0, []]);
});
