import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CONFIG_MAPS, type KubeObject, NAMESPACES, NODES } from '@holdfast/api';
import { nameOf } from '../../common/meta.ts';
import { createWorld, DrivenController, type World } from '../../testing/harness.ts';
import { ownerGarbageController } from './index.ts';

const OWNER = { apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: 'owner-uid' };

/** A ConfigMap in the namespace `a`, which an object elsewhere names as its owner. */
function worldWithOwner(): { readonly world: World; readonly collector: DrivenController } {
  const world = createWorld();
  for (const name of ['a', 'b'])
    putObject(world, NAMESPACES, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  const { apiVersion, kind, name, uid } = OWNER;
  putObject(world, CONFIG_MAPS, { apiVersion, kind, metadata: { namespace: 'a', name, uid } });
  const resources = [NAMESPACES, CONFIG_MAPS, NODES];
  return { world, collector: new DrivenController(world, ownerGarbageController({ resources })) };
}

const putObject = ({ api }: World, kind: typeof NAMESPACES | typeof CONFIG_MAPS | typeof NODES, object: KubeObject) =>
  api.put<KubeObject>(kind, object);

const eventAbout = (about: string, namespace: string): object => ({
  about,
  reason: 'OwnerRefInvalidNamespace',
  message: `ownerRef [v1/ConfigMap, namespace: ${namespace}, name: owner, uid: owner-uid] does not exist in namespace "${namespace}"`,
});

test('an owner in another namespace is reported, and counts as absent', async () => {
  const { world, collector } = worldWithOwner();
  for (const name of ['x', 'y']) {
    const metadata = { namespace: 'b', name, uid: name, ownerReferences: [OWNER] };
    putObject(world, CONFIG_MAPS, { apiVersion: 'v1', kind: 'ConfigMap', metadata });
  }
  await collector.settle();
  assert.deepEqual(world.api.events, [eventAbout('x', 'b'), eventAbout('y', 'b')]);
  assert.deepEqual(world.api.list<KubeObject>(CONFIG_MAPS).map(nameOf), ['owner']);
});

test('an owner that exists nowhere is not reported', async () => {
  const { world, collector } = worldWithOwner();
  const metadata = { namespace: 'b', name: 'x', uid: 'x', ownerReferences: [{ ...OWNER, uid: 'gone' }] };
  putObject(world, CONFIG_MAPS, { apiVersion: 'v1', kind: 'ConfigMap', metadata });
  await collector.settle();
  assert.deepEqual(world.api.events, []);
  assert.deepEqual(world.api.list<KubeObject>(CONFIG_MAPS).map(nameOf), ['owner']);
});

test('an object without a namespace whose owner has one is reported once, and stays', async () => {
  const { world, collector } = worldWithOwner();
  for (const finalizers of [[], ['example.com/a'], ['example.com/b']]) {
    const metadata = { name: 'n', uid: 'n', ownerReferences: [OWNER], finalizers };
    putObject(world, NODES, { apiVersion: 'v1', kind: 'Node', metadata });
    await collector.settle();
  }
  assert.deepEqual(world.api.events, [eventAbout('n', '')]);
  assert.deepEqual(world.api.list<KubeObject>(NODES).map(nameOf), ['n']);
});
