import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  API_SERVICES,
  CONFIG_MAPS,
  type KubeObject,
  NAMESPACES,
  type Namespace,
  PODS,
  type ResourceRef,
} from '@holdfast/api';
import { type ApiClient, TransportError } from '@holdfast/client';
import fc from 'fast-check';
import { isTerminating, targetOf } from '../../common/meta.ts';
import { pod } from '../../testing/builders.ts';
import { createWorld, DrivenController, type World } from '../../testing/harness.ts';
import { runKubelets } from '../../testing/kubelet-model.ts';
import { decide } from './decide.ts';
import { namespaceController } from './index.ts';

const RESOURCES: readonly ResourceRef[] = [PODS, CONFIG_MAPS, NAMESPACES];
const definition = namespaceController({ resources: RESOURCES });
const TEAM = { name: 'team' };

async function worldWithPod(podOn: string): Promise<{ world: World; controller: DrivenController }> {
  const world = createWorld();
  const client = world.api.client('user');
  await client.create(NAMESPACES, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: TEAM,
    spec: { finalizers: ['kubernetes'] },
    status: { phase: 'Active' },
  });
  for (const name of ['a', 'b']) {
    await client.create(CONFIG_MAPS, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'team' } });
  }
  await client.create(PODS, pod({ name: 'p', namespace: 'team' }, { phase: 'Running' }, { nodeName: podOn }));
  await client.create(PODS, pod({ name: 'other' }, { phase: 'Running' }, { nodeName: podOn }));
  return { world, controller: new DrivenController(world, definition) };
}

test('[SAFE-16] a pod that does not terminate keeps the namespace, visibly, and is never forced', async () => {
  const { world, controller } = await worldWithPod('silent');
  await world.api.client('user').delete(NAMESPACES, TEAM);
  for (let second = 0; second < 300; second += 10) {
    await controller.settle();
    world.clock.skip(10_000);
  }
  const { status } = world.api.get(NAMESPACES, TEAM);
  assert.equal(status.phase, 'Terminating');
  assert.deepEqual(
    status.conditions?.map(({ type, status: value, reason, message }) => `${type}=${value} ${reason}: ${message}`),
    [
      'NamespaceDeletionDiscoveryFailure=False ResourcesDiscovered: All resources successfully discovered',
      'NamespaceDeletionGroupVersionParsingFailure=False ParsedGroupVersions: All legacy kube types successfully parsed',
      'NamespaceDeletionContentFailure=False ContentDeleted: All content successfully deleted, may be waiting on finalization',
      'NamespaceContentRemaining=True SomeResourcesRemain: Some resources are remaining: pods. has 1 resource instances',
      'NamespaceFinalizersRemaining=False ContentHasNoFinalizers: All content-preserving finalizers finished',
    ],
  );
  assert.equal(world.api.list(CONFIG_MAPS).length, 0);
  assert.ok(isTerminating(world.api.get(PODS, { namespace: 'team', name: 'p' })));
  assert.ok(
    !isTerminating(world.api.get(PODS, { namespace: 'default', name: 'other' })),
    'other namespaces are left alone',
  );
  const deletes = world.api.writes.filter((write) => write.verb === 'delete' && write.identity !== 'user');
  assert.equal(deletes.length, 3, 'nothing is asked twice');
  for (const { request } of deletes) assert.equal(request?.gracePeriodSeconds, undefined);
});

test('[SAFE-17] a force-deleted pod releases the namespace without further action', async () => {
  const { world, controller } = await worldWithPod('silent');
  const user = world.api.client('user');
  await user.delete(NAMESPACES, TEAM);
  await controller.settle();
  await user.delete(PODS, { namespace: 'team', name: 'p' }, { gracePeriodSeconds: 0 });
  await controller.settle();
  assert.equal(world.api.find(NAMESPACES, TEAM), undefined);
});

test('an object with a finalizer is reported by the name of the finalizer', async () => {
  const { world, controller } = await worldWithPod('n');
  const held = world.api.get(CONFIG_MAPS, { namespace: 'team', name: 'a' });
  world.api.put(CONFIG_MAPS, { ...held, metadata: { ...held.metadata, finalizers: ['example.com/hold'] } });
  await world.api.client('user').delete(NAMESPACES, TEAM);
  await controller.settle();
  const told = world.api
    .get(NAMESPACES, TEAM)
    .status.conditions?.find((c) => c.type === 'NamespaceFinalizersRemaining');
  assert.equal(
    told?.message,
    'Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances',
  );
  world.api.drop(CONFIG_MAPS, targetOf(held));
  runKubelets(world);
  await controller.settle();
  assert.equal(world.api.find(NAMESPACES, TEAM), undefined);
});

test('remaining content is checked with growing back-off; when the last of it is removed the namespace is removed at once', async () => {
  const { world, controller } = await worldWithPod('silent');
  let looks = 0;
  const lists = new DrivenController(world, {
    ...definition,
    create: (context) => {
      const { client } = context;
      const list: typeof client.list = (resource, options) => {
        if (resource.plural === PODS.plural) looks++;
        return client.list(resource, options);
      };
      return definition.create({ ...context, client: { ...client, list } });
    },
  });
  controller.kill();
  const user = world.api.client('user');
  await user.delete(NAMESPACES, TEAM);
  for (let second = 0; second < 600; second++) {
    await lists.settle();
    world.clock.skip(1_000);
  }
  assert.ok(looks >= 20 && looks <= 30, `${looks} looks in ten minutes`);
  await user.delete(PODS, { namespace: 'team', name: 'p' }, { gracePeriodSeconds: 0 });
  await lists.settle();
  assert.equal(world.api.find(NAMESPACES, TEAM), undefined);
});

test('a namespace that is not being deleted is never touched', async () => {
  const { world, controller } = await worldWithPod('n');
  const before = world.api.writes.length;
  await controller.settle();
  assert.equal(world.api.writes.length, before);
});

test('converges to the same state when killed around any write', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ at: fc.integer({ min: 1, max: 10 }), counts: fc.boolean() }), { maxLength: 4 }),
      async (faults) => {
        const { world, controller } = await worldWithPod('n');
        await world.api.client('user').delete(NAMESPACES, TEAM);
        let writes = 0;
        const hit = (counts: boolean): boolean => faults.some((f) => f.at === writes && f.counts === counts);
        world.api.beforeWrite = () => {
          writes++;
          if (hit(false)) throw new TransportError('request lost');
        };
        world.api.afterWrite = () => {
          if (hit(true)) throw new TransportError('answer lost');
        };
        for (let round = 0; round < 8; round++) {
          await controller.settle();
          runKubelets(world);
          world.clock.skip(10_000);
        }
        assert.equal(world.api.find(NAMESPACES, TEAM), undefined);
        assert.equal(world.api.list(PODS, 'default').length, 1);
      },
    ),
    { numRuns: 40 },
  );
});

test('an unavailable aggregated server keeps a namespace, by name, until it answers or is unregistered', async () => {
  const world = createWorld();
  const client = world.api.client('user');
  const driven = new DrivenController(world, namespaceController({ resources: [...RESOURCES, API_SERVICES] }));
  const spec = { finalizers: ['kubernetes'] };
  await client.create(NAMESPACES, { apiVersion: 'v1', kind: 'Namespace', metadata: TEAM, spec, status: {} });
  await client.create(API_SERVICES, {
    apiVersion: 'apiregistration.k8s.io/v1',
    kind: 'APIService',
    metadata: { name: 'v1.reef.example.com' },
    spec: { group: 'reef.example.com', version: 'v1', groupPriorityMinimum: 1, versionPriority: 1, service: {} },
    status: { conditions: [{ type: 'Available', status: 'False' }] },
  });
  await client.delete(NAMESPACES, TEAM);
  await driven.settle();
  const told = world.api
    .get(NAMESPACES, TEAM)
    .status.conditions?.find((c) => c.type === 'NamespaceDeletionDiscoveryFailure');
  assert.deepEqual(
    [told?.status, told?.reason, told?.message],
    [
      'True',
      'DiscoveryFailed',
      'Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server APIs: reef.example.com/v1: stale GroupVersion discovery: reef.example.com/v1',
    ],
  );
  await client.delete(API_SERVICES, { name: 'v1.reef.example.com' });
  world.clock.skip(10_000);
  await driven.settle();
  assert.equal(world.api.find(NAMESPACES, TEAM), undefined);
});

describe('objects of servers behind the API server', () => {
  const CORALS: ResourceRef = {
    group: 'reef.example.com',
    version: 'v2',
    kind: 'Coral',
    plural: 'corals',
    namespaced: true,
  };
  const coral = (name: string): KubeObject => ({
    apiVersion: 'reef.example.com/v2',
    kind: 'Coral',
    metadata: { name, namespace: 'team' },
  });

  async function reefWorld(): Promise<{ world: World; driven: DrivenController; user: ApiClient }> {
    const world = createWorld();
    const user = world.api.client('user');
    const driven = new DrivenController(world, namespaceController({ resources: [...RESOURCES, API_SERVICES] }));
    const spec = { finalizers: ['kubernetes'] };
    await user.create(NAMESPACES, { apiVersion: 'v1', kind: 'Namespace', metadata: TEAM, spec, status: {} });
    for (const [version, versionPriority] of [
      ['v1', 1],
      ['v2', 2],
    ] as const) {
      await user.create(API_SERVICES, {
        apiVersion: 'apiregistration.k8s.io/v1',
        kind: 'APIService',
        metadata: { name: `${version}.reef.example.com` },
        spec: { group: 'reef.example.com', version, groupPriorityMinimum: 1, versionPriority, service: {} },
        status: { conditions: [{ type: 'Available', status: 'True' }] },
      });
    }
    for (const name of ['a', 'b']) await user.create(CORALS, coral(name));
    return { world, driven, user };
  }

  test('are deleted with their namespace, in the version with the highest priority', async () => {
    const { world, driven, user } = await reefWorld();
    const verbs = ['list', 'delete'];
    const cluster = { ...CORALS, plural: 'reefs', namespaced: false };
    const fixed = { ...CORALS, plural: 'currents' };
    world.api.discover = async (_, version) => [
      { ref: { ...CORALS, version }, verbs },
      { ref: { ...cluster, version }, verbs },
      { ref: { ...fixed, version }, verbs: ['get', 'list'] },
    ];
    await user.delete(NAMESPACES, TEAM);
    await driven.settle();
    assert.equal(world.api.find(NAMESPACES, TEAM), undefined);
    assert.equal(world.api.list(CORALS).length, 0);
    const deleted = world.api.writes.filter(({ verb, identity }) => verb === 'delete' && identity !== 'user');
    assert.deepEqual(
      deleted.map(({ resource }) => resource),
      ['corals', 'corals'],
    );
  });

  test('that cannot be discovered keep the namespace, by name of their group', async () => {
    const { world, driven, user } = await reefWorld();
    let isAway = true;
    world.api.discover = async (_, version) => {
      if (isAway && version === 'v2') throw new TransportError('no answer');
      return version === 'v2' ? [{ ref: CORALS, verbs: ['list', 'delete'] }] : [];
    };
    await user.delete(NAMESPACES, TEAM);
    await driven.settle();
    const [told] = world.api.get(NAMESPACES, TEAM).status.conditions ?? [];
    assert.deepEqual(
      [told?.type, told?.status, told?.message],
      [
        'NamespaceDeletionDiscoveryFailure',
        'True',
        'Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server APIs: reef.example.com/v2: stale GroupVersion discovery: reef.example.com/v2',
      ],
    );
    assert.equal(world.api.list(CORALS).length, 2);
    isAway = false;
    world.clock.skip(10_000);
    await driven.settle();
    assert.equal(world.api.find(NAMESPACES, TEAM), undefined);
    assert.equal(world.api.list(CORALS).length, 0);
  });
});

test('decide finalizes exactly when nothing remains and nothing failed', () => {
  const namespace: Namespace = {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: TEAM,
    spec: { finalizers: ['example.com/mine', 'kubernetes'] },
    status: { phase: 'Terminating' },
  };
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 2 }),
      fc.array(fc.constantFrom('boom', 'bang'), { maxLength: 2 }),
      (count, failures) => {
        const remaining = new Map(count === 0 ? [] : [['pods.', count]]);
        const action = decide(namespace, { remaining, finalizers: new Map(), failures }, 0);
        assert.equal(action?.type === 'finalize', count === 0 && failures.length === 0);
        if (action?.type === 'finalize') assert.deepEqual(action.namespace.spec.finalizers, ['example.com/mine']);
        else assert.equal(action?.namespace.status.phase, 'Terminating');
      },
    ),
  );
});
