import assert from 'node:assert/strict';
import { test } from 'node:test';
import { API_SERVICES, type APIService, CONFIG_MAPS } from '@holdfast/api';
import type { DiscoveredResource } from '@holdfast/client';
import { createSilentLog } from '@holdfast/platform';
import { createWorld } from '../testing/harness.ts';
import { AggregatedKindPool, aggregatedKinds } from './aggregated-kinds.ts';

const GROUP = 'reef.example.com';

const registration = (version: string, versionPriority: number, isAvailable = true): APIService => ({
  apiVersion: 'apiregistration.k8s.io/v1',
  kind: 'APIService',
  metadata: { name: `${version}.${GROUP}` },
  spec: { group: GROUP, version, groupPriorityMinimum: 1, versionPriority, service: { namespace: 'n', name: 's' } },
  status: { conditions: [{ type: 'Available', status: isAvailable ? 'True' : 'False' }] },
});

const served = (version: string, plural: string, verbs = ['list', 'watch', 'delete']): DiscoveredResource => ({
  ref: { group: GROUP, version, kind: plural, plural, namespaced: true },
  verbs,
});

test('each resource is watched once, in its first version, when it supports list, watch and delete', () => {
  const resources = new Map([
    [`v1.${GROUP}`, [served('v1', 'corals'), served('v1', 'metrics', ['list', 'get'])]],
    [`v2.${GROUP}`, [served('v2', 'corals'), served('v2', 'fish'), served('v2', 'known')]],
  ]);
  const kinds = aggregatedKinds([registration('v1', 10), registration('v2', 20)], resources, [
    served('v9', 'known').ref,
  ]);
  assert.deepEqual(
    [...kinds].map(([name, { version, versions }]) => [name, version, versions]),
    [
      [`corals.${GROUP}`, 'v2', ['v2', 'v1']],
      [`fish.${GROUP}`, 'v2', ['v2']],
    ],
  );
});

test('kinds are added with their registration, stay while its server is unavailable, and are removed with it', async () => {
  const world = createWorld();
  const client = world.api.client('manager');
  let answer = (): readonly DiscoveredResource[] => [served('v1', 'corals')];
  world.api.discover = async () => answer();
  const pool = new AggregatedKindPool({
    client,
    clock: world.clock,
    informers: world.api.informers,
    log: createSilentLog(),
    known: [CONFIG_MAPS],
    createCache: (kind) => world.api.cache(kind),
  });
  const turns = async (): Promise<void> => {
    for (let turn = 0; turn < 20; turn++) await Promise.resolve();
  };
  const followed: string[] = [];
  pool.follow((kind) => {
    followed.push(`+${kind.plural}`);
    return () => void followed.push(`-${kind.plural}`);
  });
  pool.start();
  assert.equal(pool.isComplete(), true, 'there are no registrations');
  world.api.put(API_SERVICES, registration('v1', 10));
  assert.equal(pool.isComplete(), false);
  await turns();
  assert.equal(pool.isComplete(), true);
  assert.deepEqual(followed, ['+corals']);
  answer = () => {
    throw new Error('away');
  };
  world.clock.skip(60_000);
  await turns();
  assert.deepEqual(followed, ['+corals']);
  answer = () => [served('v1', 'fish')];
  world.clock.skip(60_000);
  await turns();
  assert.deepEqual(followed, ['+corals', '-corals', '+fish']);
  world.api.put(API_SERVICES, registration('v1', 10, false));
  await turns();
  assert.deepEqual(followed.length, 3);
  world.api.drop(API_SERVICES, { name: `v1.${GROUP}` });
  await turns();
  assert.deepEqual(followed.at(-1), '-fish');
  await pool.stop();
});
