import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CONFIG_MAPS, NAMESPACES, type Namespace } from '@holdfast/api';
import { createWorld, DrivenController, settleAll } from '../../testing/harness.ts';
import { rootCaController } from './index.ts';

const namespace = (name: string): Namespace => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name },
  spec: { finalizers: ['kubernetes'] },
  status: { phase: 'Active' },
});

test('every namespace gets the root certificate, and one that was changed or removed is put right at once', async () => {
  const world = createWorld();
  world.api.put(NAMESPACES, namespace('a'));
  const controllers = [new DrivenController(world, rootCaController({ rootCa: 'PEM' }))];
  await settleAll(controllers);
  const published = () =>
    world.api.list(CONFIG_MAPS).map((map) => [map.metadata.namespace, map.metadata.name, map.data]);
  assert.deepEqual(published(), [['a', 'kube-root-ca.crt', { 'ca.crt': 'PEM' }]]);
  const [map] = world.api.list(CONFIG_MAPS);
  assert.ok(map !== undefined);
  world.api.put(CONFIG_MAPS, { ...map, data: { 'ca.crt': 'other' } });
  await settleAll(controllers);
  assert.deepEqual(published(), [['a', 'kube-root-ca.crt', { 'ca.crt': 'PEM' }]]);
  world.api.drop(CONFIG_MAPS, { namespace: 'a', name: 'kube-root-ca.crt' });
  await settleAll(controllers);
  assert.deepEqual(published(), [['a', 'kube-root-ca.crt', { 'ca.crt': 'PEM' }]]);
});
