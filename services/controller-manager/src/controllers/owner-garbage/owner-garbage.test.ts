import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CONFIG_MAPS, DEPLOYMENTS, type KubeObject, NODES, PODS, REPLICA_SETS, type ResourceRef } from '@holdfast/api';
import { TransportError } from '@holdfast/client';
import { StatusError } from '@holdfast/machinery';
import fc from 'fast-check';
import type { CustomKindRef, CustomKinds } from '../../common/kind-pool.ts';
import { isTerminating, nameOf, targetOf, uidOf } from '../../common/meta.ts';
import { OWNERS_ASKED_PER_PASS, UNSEEN_OWNER_RECHECK_MS } from '../../limits.ts';
import { deployment, pod, replicaSet } from '../../testing/builders.ts';
import { contextOf, createWorld, DrivenController, settleAll, type World } from '../../testing/harness.ts';
import { runKubelets } from '../../testing/kubelet-model.ts';
import { deploymentController } from '../deployment/index.ts';
import { replicaSetController } from '../replicaset/index.ts';
import { decide, type OwnerState } from './decide.ts';
import { ownerGarbageController } from './index.ts';

const RESOURCES: readonly ResourceRef[] = [DEPLOYMENTS, REPLICA_SETS, PODS, NODES];
const WEB = { namespace: 'default', name: 'web' };
const collector = ownerGarbageController({ resources: RESOURCES });

interface Cluster {
  readonly world: World;
  readonly turn: () => Promise<void>;
}

/** A Deployment of three running pods, with the controllers that look after it. */
async function runningDeployment(): Promise<Cluster> {
  const world = createWorld();
  await world.api.client('user').create(DEPLOYMENTS, deployment());
  const controllers = [deploymentController, replicaSetController, collector].map(
    (d) => new DrivenController(world, d),
  );
  const cluster = { world, turn: () => settleAll(controllers) };
  await cluster.turn();
  runKubelets(world);
  await cluster.turn();
  assert.equal(world.api.list(PODS).length, 3);
  return cluster;
}

const left = (world: World): readonly number[] =>
  [DEPLOYMENTS, REPLICA_SETS, PODS].map((kind) => world.api.list<KubeObject>(kind).length);

test('at a start only objects whose owner is missing in the cache are queued', () => {
  const world = createWorld();
  const owner = replicaSet({}, { name: 'web', uid: 'here' });
  world.api.put(REPLICA_SETS, owner);
  const reference = (uid: string) => [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid }];
  for (let i = 0; i < 50; i++) world.api.put(PODS, pod({ name: `p${i}`, ownerReferences: reference('here') }));
  world.api.put(PODS, pod({ name: 'stray', ownerReferences: reference('gone') }));
  const due = collector.create(contextOf(world, 'user')).flatMap((loop) => {
    loop.wake(() => {});
    return loop.initialKeys();
  });
  assert.equal(due.length, 1);
  assert.match(due[0] ?? '', /stray$/);
});

async function finishPods({ world, turn }: Cluster): Promise<void> {
  for (let round = 0; round < 5; round++) {
    runKubelets(world);
    await turn();
  }
}

test('[SAFE-15] background: deleting a Deployment deletes its sets and pods, gracefully', async () => {
  const cluster = await runningDeployment();
  const { world } = cluster;
  await world.api.client('user').delete(DEPLOYMENTS, WEB, { propagationPolicy: 'Background' });
  await cluster.turn();
  assert.deepEqual(left(world), [0, 0, 3]);
  assert.ok(world.api.list(PODS).every(isTerminating), 'asked to end, not removed');
  await finishPods(cluster);
  assert.deepEqual(left(world), [0, 0, 0]);
  for (const write of world.api.writes) assert.notEqual(write.request?.gracePeriodSeconds, 0);
});

test('foreground: the owner stays visible until its dependents are gone', async () => {
  const cluster = await runningDeployment();
  const { world } = cluster;
  await world.api.client('user').delete(DEPLOYMENTS, WEB, { propagationPolicy: 'Foreground' });
  await cluster.turn();
  assert.deepEqual(left(world), [1, 1, 3]);
  assert.ok(world.api.list(PODS).every(isTerminating));
  await finishPods(cluster);
  assert.deepEqual(left(world), [0, 0, 0]);
});

test('foreground: a cycle of owners is broken, and dependents outside of it are waited for', async () => {
  const world = createWorld();
  const inCircle = (name: string, owner: string): KubeObject => {
    const set = replicaSet();
    const reference = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: owner, uid: owner, blockOwnerDeletion: true };
    return { ...set, metadata: { ...set.metadata, name, uid: name, ownerReferences: [reference] } };
  };
  for (const [name, owner] of [
    ['a', 'c'],
    ['b', 'a'],
    ['c', 'b'],
    ['held', 'b'],
  ] as const) {
    const set = inCircle(name, owner);
    const finalizers = name === 'held' ? ['example.com/not-yet'] : [];
    world.api.put<KubeObject>(REPLICA_SETS, { ...set, metadata: { ...set.metadata, finalizers } });
  }
  const controllers = [new DrivenController(world, collector)];
  await world.api.client('user').delete(REPLICA_SETS, { ...WEB, name: 'a' }, { propagationPolicy: 'Foreground' });
  await settleAll(controllers);
  assert.deepEqual(world.api.list(REPLICA_SETS).map(nameOf).sort(), ['a', 'b', 'held']);
  const held = world.api.list(REPLICA_SETS).find((set) => nameOf(set) === 'held');
  assert.ok(held !== undefined && isTerminating(held));
  world.api.drop(REPLICA_SETS, { ...WEB, name: 'held' });
  await settleAll(controllers);
  assert.deepEqual(world.api.list(REPLICA_SETS), []);
});

test('orphan: dependents lose the reference and live on', async () => {
  const cluster = await runningDeployment();
  const { world } = cluster;
  world.api.cache(REPLICA_SETS).freeze();
  await world.api.client('user').delete(DEPLOYMENTS, WEB, { propagationPolicy: 'Orphan' });
  await cluster.turn();
  world.api.cache(REPLICA_SETS).thaw();
  await finishPods(cluster);
  assert.deepEqual(left(world), [0, 1, 3]);
  assert.equal(world.api.list(REPLICA_SETS)[0]?.metadata.ownerReferences, undefined);
  assert.ok(world.api.list(PODS).every((p) => !isTerminating(p)));
});

test('orphan: dependents that no cache has yet lose the reference', async () => {
  const world = createWorld();
  const late = world.api.newInformers();
  const cache = late.of(REPLICA_SETS);
  cache.freeze();
  const owner = await world.api.client('user').create(DEPLOYMENTS, deployment());
  const ownerReferences = [{ apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', uid: uidOf(owner) }];
  world.api.put(REPLICA_SETS, replicaSet({}, { ownerReferences }));
  await world.api.client('user').delete(DEPLOYMENTS, WEB, { propagationPolicy: 'Orphan' });
  const controller = new DrivenController(world, collector, late);
  await controller.settle();
  assert.equal(world.api.find(DEPLOYMENTS, WEB), undefined);
  cache.thaw();
  await controller.settle();
  assert.equal(world.api.list(REPLICA_SETS).length, 1);
});

test('dependents of an owner that was recreated under its name while no controller ran are deleted', async () => {
  const world = createWorld();
  const user = world.api.client('user');
  const owner = await user.create(DEPLOYMENTS, deployment());
  const ownerReferences = [{ apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', uid: uidOf(owner) }];
  world.api.put(REPLICA_SETS, replicaSet({}, { ownerReferences }));
  const controller = new DrivenController(world, collector);
  await controller.settle();
  world.api.cache(DEPLOYMENTS).freeze();
  await user.delete(DEPLOYMENTS, WEB, { propagationPolicy: 'Background' });
  await user.create(DEPLOYMENTS, deployment());
  world.api.cache(DEPLOYMENTS).jump();
  await controller.settle();
  assert.deepEqual(left(world), [1, 0, 0]);
});

test('an object with all its owners present is not examined', async () => {
  const world = createWorld();
  const owner = await world.api.client('user').create(DEPLOYMENTS, deployment());
  const controller = new DrivenController(world, collector);
  await controller.settle();
  const ownedBy = (uid: string) => [{ apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', uid }];
  world.api.put(REPLICA_SETS, replicaSet({}, { ownerReferences: ownedBy(uidOf(owner)) }));
  assert.equal(await controller.step(), false);
  world.api.put(REPLICA_SETS, replicaSet({}, { name: 'stray', ownerReferences: ownedBy('gone') }));
  assert.equal(await controller.step(), true);
});

test('an owner missing only in the cache keeps its dependents; one with another uid is not the owner', async () => {
  const world = createWorld();
  world.api.cache(DEPLOYMENTS).freeze();
  const owner = await world.api.client('user').create(DEPLOYMENTS, deployment());
  const reference = (uid: string) => [{ apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', uid }];
  world.api.put(
    PODS,
    pod({ name: 'kept', ownerReferences: reference(uidOf(owner)) }, { phase: 'Running' }, { nodeName: 'n' }),
  );
  world.api.put(
    PODS,
    pod({ name: 'left', ownerReferences: reference('of-the-one-before') }, { phase: 'Running' }, { nodeName: 'n' }),
  );
  await new DrivenController(world, collector).settle();
  assert.deepEqual(world.api.list(PODS).filter(isTerminating).map(nameOf), ['left']);
});

test('what an owner leaves that no cache has ever shown is deleted', async () => {
  const world = createWorld();
  world.api.cache(DEPLOYMENTS).freeze();
  const owner = await world.api.client('user').create(DEPLOYMENTS, deployment());
  const ownerReferences = [{ apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', uid: uidOf(owner) }];
  world.api.put(REPLICA_SETS, replicaSet({}, { name: 'child', ownerReferences }));
  const controller = new DrivenController(world, collector);
  await controller.settle();
  assert.equal(world.api.list(REPLICA_SETS).length, 1);
  await world.api.client('user').delete(DEPLOYMENTS, WEB, { propagationPolicy: 'Background' });
  world.api.cache(DEPLOYMENTS).jump();
  await world.clock.advance(UNSEEN_OWNER_RECHECK_MS);
  await controller.settle();
  assert.deepEqual(world.api.list(REPLICA_SETS), []);
});

test('with one owner left only the dead reference is removed', async () => {
  const world = createWorld();
  const owner = await world.api.client('user').create(DEPLOYMENTS, deployment());
  const reference = (uid: string) => ({ apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', uid });
  const ownerReferences = [reference('gone'), reference(uidOf(owner))];
  const shared = world.api.put(PODS, pod({ name: 'shared', ownerReferences }, { phase: 'Running' }, { nodeName: 'n' }));
  await new DrivenController(world, collector).settle();
  const after = world.api.get(PODS, targetOf(shared));
  assert.ok(!isTerminating(after));
  assert.deepEqual(
    after.metadata.ownerReferences?.map(({ uid }) => uid),
    [uidOf(owner)],
  );
});

test('references to an unserved kind, or from a cluster-scoped object to a namespaced owner, delete nothing', async () => {
  const world = createWorld();
  const strange = [{ apiVersion: 'example.com/v1', kind: 'Thing', name: 'x', uid: 'x' }];
  world.api.put(PODS, pod({ name: 'p', ownerReferences: strange }));
  const outOfReach = [{ apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', uid: 'gone' }];
  world.api.put<KubeObject>(NODES, {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'n', ownerReferences: outOfReach },
  });
  await new DrivenController(world, collector).settle();
  assert.deepEqual(world.api.writes, []);
});

test('converges when killed around any write', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('Background' as const, 'Foreground' as const),
      fc.array(fc.record({ at: fc.integer({ min: 1, max: 15 }), counts: fc.boolean() }), { maxLength: 5 }),
      async (propagationPolicy, faults) => {
        const cluster = await runningDeployment();
        const { api } = cluster.world;
        await api.client('user').delete(DEPLOYMENTS, WEB, { propagationPolicy });
        let writes = 0;
        const hit = (counts: boolean): boolean => faults.some((f) => f.at === writes && f.counts === counts);
        api.beforeWrite = () => {
          writes++;
          if (hit(false)) throw new TransportError('request lost');
        };
        api.afterWrite = () => {
          if (hit(true)) throw new TransportError('answer lost');
        };
        await cluster.turn();
        await finishPods(cluster);
        assert.deepEqual(left(cluster.world), [0, 0, 0]);
      },
    ),
    { numRuns: 40 },
  );
});

test('decide deletes only when no owner is present, and never an object without owners', () => {
  const states = fc.array(fc.constantFrom<OwnerState>('present', 'absent', 'waiting'), { maxLength: 4 });
  fc.assert(
    fc.property(states, fc.boolean(), fc.boolean(), (owners, hasDependents, terminating) => {
      const ownerReferences = owners.map((_, i) => ({ apiVersion: 'v1', kind: 'Pod', name: 'o', uid: `o${i}` }));
      const object = pod({ name: 'p', uid: 'p', ownerReferences, ...(terminating ? { deletionTimestamp: 'x' } : {}) });
      const action = decide({
        object,
        owners: new Map(owners.map((state, i) => [`o${i}`, state])),
        dependents: hasDependents ? [pod({ name: 'd' })] : [],
      });
      const mayDelete = !terminating && owners.length > 0 && !owners.includes('present');
      assert.equal(action?.type === 'delete', mayDelete);
      if (action?.type === 'drop-owners') {
        assert.ok(owners.includes('present'));
        for (const uid of action.ownerUids) assert.notEqual(owners[Number(uid.slice(1))], 'present');
      }
    }),
  );
});

test('an object with a thousand owners causes a bounded number of reads per pass', async () => {
  const world = createWorld();
  const owners = Array.from({ length: 1000 }, (_, i) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    name: `p${i}`,
    uid: `u${i}`,
  }));
  world.api.put(PODS, pod({ name: 'child', uid: 'child', ownerReferences: owners }));
  const controller = new DrivenController(world, collector);
  let most = 0;
  for (let pass = 0, before = 0; await controller.step(); pass++) {
    most = Math.max(most, world.api.reads.get - before);
    before = world.api.reads.get;
    assert.ok(pass < 50, 'comes to an end');
  }
  assert.ok(most <= OWNERS_ASKED_PER_PASS + 1, `${most} questions`);
  assert.ok(world.api.list(PODS).every(isTerminating), 'it has followed its owners');
});

const WIDGETS: CustomKindRef = {
  group: 'example.com',
  version: 'v2',
  versions: ['v1', 'v2'],
  kind: 'Widget',
  plural: 'widgets',
  namespaced: true,
};

/** A started controller; `fill` adds Widgets, whose cache is filled later than all others. */
function startedBeforeWidgets(world: World): { readonly controller: DrivenController; readonly fill: () => void } {
  const filled: (() => void)[] = [];
  const kinds: CustomKinds = {
    list: () => [WIDGETS],
    isComplete: () => true,
    follow: (subscribe) => {
      filled.push(() => void subscribe(WIDGETS, world.api.cache(WIDGETS)));
      return () => {};
    },
  };
  const definition = ownerGarbageController({ resources: [CONFIG_MAPS] });
  const controller = new DrivenController(world, definition, world.api.informers, { customKinds: kinds });
  return { controller, fill: () => filled.forEach((each) => each()) };
}

function putConfigMap(world: World, name: string, owner: { readonly apiVersion: string; readonly uid: string }): void {
  const ownerReferences = [{ ...owner, kind: 'Widget', name: owner.uid }];
  world.api.put<KubeObject>(CONFIG_MAPS, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { namespace: 'default', name, ownerReferences },
  });
}

function putWidget(world: World, uid: string, metadata: KubeObject['metadata'] = {}): void {
  world.api.put<KubeObject>(WIDGETS, {
    apiVersion: 'example.com/v2',
    kind: 'Widget',
    metadata: { namespace: 'default', name: uid, uid, ...metadata },
  });
}

test('dependents of a deleted custom resource are deleted once its kind is known', async () => {
  const world = createWorld();
  putWidget(world, 'alive');
  putConfigMap(world, 'of-v1', { apiVersion: 'example.com/v1', uid: 'gone' });
  putConfigMap(world, 'of-v2', { apiVersion: 'example.com/v2', uid: 'gone' });
  putConfigMap(world, 'of-living', { apiVersion: 'example.com/v1', uid: 'alive' });
  putConfigMap(world, 'of-unserved', { apiVersion: 'example.com/v3', uid: 'gone' });
  const { controller, fill } = startedBeforeWidgets(world);
  await controller.settle();
  assert.equal(world.api.list(CONFIG_MAPS).length, 4, 'nobody can tell yet');
  fill();
  await controller.settle();
  assert.deepEqual(world.api.list(CONFIG_MAPS).map(nameOf).sort(), ['of-living', 'of-unserved']);
  assert.equal(world.api.reads.get, 1, 'one question for the owner that is gone, none for the one that is there');
});

test('orphan: custom resources whose cache is not filled yet lose the reference and live on', async () => {
  const world = createWorld();
  const name = { namespace: 'default', name: 'owner' };
  const owner: KubeObject = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { ...name, uid: 'owner' } };
  world.api.put<KubeObject>(CONFIG_MAPS, owner);
  const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: 'owner' }];
  putWidget(world, 'kept', { ownerReferences });
  await world.api.client('user').delete(CONFIG_MAPS, name, { propagationPolicy: 'Orphan' });
  const { controller, fill } = startedBeforeWidgets(world);
  await controller.settle();
  assert.deepEqual(world.api.list(CONFIG_MAPS), []);
  fill();
  await controller.settle();
  assert.deepEqual(
    world.api.list<KubeObject>(WIDGETS).map(({ metadata }) => [metadata.name, metadata.ownerReferences]),
    [['kept', undefined]],
  );
});

test('foreground: an owner waits for custom resources whose cache is not filled yet', async () => {
  const world = createWorld();
  const name = { namespace: 'default', name: 'owner' };
  world.api.put<KubeObject>(CONFIG_MAPS, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { ...name, uid: 'owner' } });
  const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: 'owner', blockOwnerDeletion: true };
  putWidget(world, 'held', { ownerReferences: [owner], finalizers: ['example.com/hold'] });
  await world.api.client('user').delete(CONFIG_MAPS, name, { propagationPolicy: 'Foreground' });
  const { controller, fill } = startedBeforeWidgets(world);
  await controller.settle();
  assert.equal(world.api.list(CONFIG_MAPS).length, 1, 'it waits');
  fill();
  await controller.settle();
  const [held] = world.api.list<KubeObject>(WIDGETS);
  assert.ok(held !== undefined && isTerminating(held));
  assert.equal(world.api.list(CONFIG_MAPS).length, 1, 'it waits for the end of what it owns');
  world.api.drop(WIDGETS, { namespace: 'default', name: 'held' });
  await controller.settle();
  assert.deepEqual(world.api.list(CONFIG_MAPS), []);
});

test('dependents of one custom kind in another, both known at the start, are deleted with their owners', async () => {
  const world = createWorld();
  const gadgets: CustomKindRef = { ...WIDGETS, kind: 'Gadget', plural: 'gadgets' };
  const ownedBy = (kind: string) => ({
    ownerReferences: [{ apiVersion: 'example.com/v1', kind, name: 'o', uid: 'o' }],
  });
  putWidget(world, 'widget', ownedBy('Gadget'));
  const gadget = { name: 'gadget', namespace: 'default', ...ownedBy('Widget') };
  world.api.put<KubeObject>(gadgets, { apiVersion: 'example.com/v2', kind: 'Gadget', metadata: gadget });
  const kinds: CustomKinds = {
    list: () => [WIDGETS, gadgets],
    isComplete: () => true,
    follow: (subscribe) => {
      const ends = [WIDGETS, gadgets].map((kind) => subscribe(kind, world.api.cache(kind)));
      return () => ends.forEach((end) => end());
    },
  };
  await new DrivenController(world, collector, world.api.informers, { customKinds: kinds }).settle();
  assert.deepEqual([...world.api.list(WIDGETS), ...world.api.list(gadgets)], []);
});

test('an owner absent at the location of one reference is not absent at that of another', async () => {
  const world = createWorld();
  const cached = world.api.newInformers();
  cached.of(DEPLOYMENTS).freeze();
  const uid = uidOf(await world.api.client('user').create(DEPLOYMENTS, deployment()));
  const reference = (name: string) => ({ apiVersion: 'apps/v1', kind: 'Deployment', name, uid });
  const put = (name: string, ...ownerReferences: readonly ReturnType<typeof reference>[]): void =>
    void world.api.put(
      PODS,
      pod({ name, ownerReferences: [...ownerReferences] }, { phase: 'Running' }, { nodeName: 'n' }),
    );
  put('astray', reference('other'));
  put('owned', reference('web'));
  put('both', reference('web'), reference('other'));
  await new DrivenController(world, collector, cached).settle();
  assert.deepEqual(world.api.list(PODS).filter(isTerminating).map(nameOf), ['astray']);
});

test('a server that does not know the definition of an owner proves nothing about it, and is asked again', async () => {
  const world = createWorld();
  const client = world.api.client.bind(world.api);
  let isKnown = false;
  world.api.client = (identity) => {
    const inner = client(identity);
    const get: typeof inner.get = async (resource, target) => {
      if (isKnown || resource.plural !== WIDGETS.plural) return inner.get(resource, target);
      const message = 'the server could not find the requested resource';
      throw new StatusError({ code: 404, reason: 'NotFound', message });
    };
    const find: typeof inner.find = (resource, target) =>
      isKnown || resource.plural !== WIDGETS.plural ? inner.find(resource, target) : Promise.resolve(undefined);
    return { ...inner, get, find };
  };
  putConfigMap(world, 'dependent', { apiVersion: 'example.com/v2', uid: 'gone' });
  const { controller, fill } = startedBeforeWidgets(world);
  fill();
  for (let step = 0; step < 20; step++) await controller.step();
  assert.equal(world.api.list(CONFIG_MAPS).length, 1);
  isKnown = true;
  await controller.settle();
  assert.deepEqual(world.api.list(CONFIG_MAPS), []);
});
