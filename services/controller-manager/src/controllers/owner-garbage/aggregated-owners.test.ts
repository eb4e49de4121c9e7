import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject, ResourceRef } from '@holdfast/api';
import { StatusError } from '@holdfast/machinery';
import type { CustomKindRef, CustomKinds } from '../../common/kind-pool.ts';
import { createWorld, DrivenController, type World } from '../../testing/harness.ts';
import { ownerGarbageController } from './index.ts';

/** Owners and dependents that servers behind the API server have. */

const CONFIG_MAPS: ResourceRef = {
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  namespaced: true,
};
const CORALS: CustomKindRef = {
  group: 'reef.example.com',
  version: 'v1',
  versions: ['v1', 'v1beta1'],
  kind: 'Coral',
  plural: 'corals',
  namespaced: true,
};

interface Reef {
  readonly world: World;
  readonly controller: DrivenController;
  /** Its server does not answer. */
  isAway: boolean;
  /** Its server answers every question with this. */
  lie: StatusError | undefined;
  /** Its server answers with objects of which this is different. */
  forged: Partial<KubeObject>;
}

function createReef(kinds = [CORALS]): Reef {
  const world = createWorld();
  const state = { isAway: false, lie: undefined as StatusError | undefined, forged: {} };
  const client = world.api.client.bind(world.api);
  world.api.client = (identity) => {
    const inner = client(identity);
    const refuse = ({ plural }: { readonly plural: string }): void => {
      if (plural !== CORALS.plural) return;
      if (state.lie !== undefined) throw state.lie;
      if (state.isAway) throw new StatusError({ code: 503, reason: 'ServiceUnavailable', message: 'away' });
    };
    return {
      ...inner,
      get: async (resource, ...rest) => {
        refuse(resource);
        const found = await inner.get(resource, ...rest);
        return resource.plural === CORALS.plural ? { ...found, ...state.forged } : found;
      },
      find: async (resource, ...rest) => (refuse(resource), inner.find(resource, ...rest)),
      list: async (resource, ...rest) => (refuse(resource), inner.list(resource, ...rest)),
      delete: async (resource, ...rest) => (refuse(resource), inner.delete(resource, ...rest)),
    };
  };
  const aggregated: CustomKinds = {
    list: () => kinds,
    isComplete: () => true,
    follow: (subscribe) => {
      const ends = kinds.map((kind) => subscribe(kind, world.api.cache(kind)));
      return () => ends.forEach((end) => end());
    },
  };
  const definition = ownerGarbageController({ resources: [CONFIG_MAPS] });
  const controller = new DrivenController(world, definition, world.api.informers, { aggregatedKinds: aggregated });
  return Object.assign(state, { world, controller });
}

interface Owned {
  readonly apiVersion?: string;
  readonly kind: string;
  readonly uid: string;
  readonly blockOwnerDeletion?: boolean;
}

function put({ world }: Reef, resource: ResourceRef, name: string, ...owners: readonly Owned[]): void {
  const apiVersion = resource === CORALS ? 'reef.example.com/v1' : 'v1';
  const ownerReferences = owners.map((owner) => ({
    apiVersion: owner.kind === 'Coral' ? 'reef.example.com/v1' : 'v1',
    ...owner,
    name: owner.uid,
  }));
  world.api.put<KubeObject>(resource, {
    apiVersion,
    kind: resource.kind,
    metadata: { namespace: 'default', name, uid: name, ...(owners.length > 0 ? { ownerReferences } : {}) },
  });
}

const names = ({ world }: Reef, resource: ResourceRef): readonly (string | undefined)[] =>
  world.api.list<KubeObject>(resource).map(({ metadata }) => metadata.name);

const steps = async ({ controller }: Reef, count: number): Promise<void> => {
  for (let step = 0; step < count; step++) await controller.step();
};

test('an object of an aggregated API is deleted with its owner, whichever server serves the owner', async () => {
  const reef = createReef();
  put(reef, CORALS, 'of-gone', { kind: 'ConfigMap', uid: 'gone' });
  put(reef, CORALS, 'of-gone-coral', { kind: 'Coral', uid: 'gone-coral' });
  put(reef, CONFIG_MAPS, 'here');
  put(reef, CORALS, 'of-here', { kind: 'ConfigMap', uid: 'here' });
  await reef.controller.settle();
  assert.deepEqual(names(reef, CORALS), ['of-here']);
});

test('dependents of a deleted owner in an aggregated API are deleted, in whatever version they name it', async () => {
  const reef = createReef();
  put(reef, CORALS, 'alive');
  put(reef, CONFIG_MAPS, 'of-gone', { kind: 'Coral', uid: 'gone' });
  put(reef, CONFIG_MAPS, 'of-gone-too', { kind: 'Coral', uid: 'gone', apiVersion: 'reef.example.com/v1beta1' });
  put(reef, CONFIG_MAPS, 'of-living', { kind: 'Coral', uid: 'alive' });
  put(reef, CONFIG_MAPS, 'of-unserved', { kind: 'Coral', uid: 'gone', apiVersion: 'reef.example.com/v9' });
  await reef.controller.settle();
  assert.deepEqual(names(reef, CONFIG_MAPS), ['of-living', 'of-unserved']);
  await reef.world.api.client('user').delete(CORALS, { namespace: 'default', name: 'alive' });
  await reef.controller.settle();
  assert.deepEqual(names(reef, CONFIG_MAPS), ['of-unserved']);
});

test('an unavailable server delays only deletions that involve it', async () => {
  const reef = createReef();
  reef.isAway = true;
  put(reef, CONFIG_MAPS, 'of-unknown', { kind: 'Coral', uid: 'gone-coral' });
  put(reef, CONFIG_MAPS, 'of-gone', { kind: 'ConfigMap', uid: 'gone' });
  const orphaned = { namespace: 'default', name: 'orphaned' };
  put(reef, CONFIG_MAPS, orphaned.name);
  await reef.world.api.client('user').delete(CONFIG_MAPS, orphaned, { propagationPolicy: 'Orphan' });
  await steps(reef, 50);
  assert.deepEqual(names(reef, CONFIG_MAPS), ['of-unknown']);
  reef.isAway = false;
  await reef.controller.settle();
  assert.deepEqual(names(reef, CONFIG_MAPS), []);
});

for (const [what, details, isBelieved] of [
  ['that names nothing', undefined, false],
  ['that names something else', { name: 'other' }, false],
  ['that names the owner', { name: 'owner' }, true],
] as const) {
  test(`absence in an aggregated API is accepted when the answer names the object: 404 ${what}`, async () => {
    const reef = createReef();
    const lie = { code: 404, reason: 'NotFound', message: 'not found' } as const;
    reef.lie = new StatusError({ ...lie, ...(details === undefined ? {} : { details }) });
    put(reef, CONFIG_MAPS, 'dependent', { kind: 'Coral', uid: 'owner' });
    await steps(reef, 20);
    assert.deepEqual(names(reef, CONFIG_MAPS), isBelieved ? [] : ['dependent']);
  });
}

for (const [what, metadata] of [
  ['without a uid', { name: 'gone' }],
  ['about another object', { name: 'other', uid: 'other' }],
] as const) {
  test(`an answer ${what} does not prove that an owner in an aggregated API is absent`, async () => {
    const reef = createReef();
    put(reef, CORALS, 'owner');
    reef.world.api.cache(CORALS).freeze();
    put(reef, CONFIG_MAPS, 'dependent', { kind: 'Coral', uid: 'gone' });
    reef.world.api.put<KubeObject>(CORALS, {
      apiVersion: 'reef.example.com/v1',
      kind: 'Coral',
      metadata: { namespace: 'default', name: 'gone', uid: 'gone' },
    });
    reef.forged = { metadata };
    await steps(reef, 20);
    assert.deepEqual(names(reef, CONFIG_MAPS), ['dependent']);
  });
}

test('an object whose kind is removed while it is examined is still changed by its metadata alone', async () => {
  const world = createWorld();
  const client = world.api.client.bind(world.api);
  let end = (): void => {};
  const whole: string[] = [];
  world.api.client = (identity) => {
    const inner = client(identity);
    const find: typeof inner.find = (resource, target) => {
      end();
      return inner.find(resource, target);
    };
    const update: typeof inner.update = (resource, object) => {
      whole.push(resource.plural);
      return inner.update(resource, object);
    };
    return { ...inner, find, update };
  };
  const aggregatedKinds: CustomKinds = {
    list: () => [CORALS],
    isComplete: () => true,
    follow: (subscribe) => {
      end = subscribe(CORALS, world.api.cache(CORALS));
      return () => {};
    },
  };
  const definition = ownerGarbageController({ resources: [CONFIG_MAPS] });
  const controller = new DrivenController(world, definition, world.api.informers, { aggregatedKinds });
  const reef: Reef = { world, controller, isAway: false, lie: undefined, forged: {} };
  put(reef, CONFIG_MAPS, 'here');
  put(reef, CORALS, 'of-both', { kind: 'ConfigMap', uid: 'here' }, { kind: 'ConfigMap', uid: 'gone' });
  await controller.settle();
  const [coral] = world.api.list<KubeObject>(CORALS);
  assert.deepEqual(
    coral?.metadata.ownerReferences?.map(({ uid }) => uid),
    ['here'],
  );
  assert.deepEqual(whole, []);
});

test('foreground: an owner in an aggregated API waits for blocking dependents, and is deleted after them', async () => {
  const reef = createReef();
  put(reef, CORALS, 'owner');
  put(reef, CONFIG_MAPS, 'dependent', { kind: 'Coral', uid: 'owner', blockOwnerDeletion: true });
  const owner = { namespace: 'default', name: 'owner' };
  await reef.world.api.client('user').delete(CORALS, owner, { propagationPolicy: 'Foreground' });
  await reef.controller.settle();
  assert.deepEqual([names(reef, CORALS), names(reef, CONFIG_MAPS)], [[], []]);
});

test('orphan: dependents in an aggregated API lose the reference, by their metadata alone', async () => {
  const reef = createReef();
  put(reef, CONFIG_MAPS, 'owner');
  put(reef, CORALS, 'dependent', { kind: 'ConfigMap', uid: 'owner' }, { kind: 'ConfigMap', uid: 'second' });
  put(reef, CONFIG_MAPS, 'second');
  const owner = { namespace: 'default', name: 'owner' };
  await reef.world.api.client('user').delete(CONFIG_MAPS, owner, { propagationPolicy: 'Orphan' });
  await reef.controller.settle();
  const [dependent] = reef.world.api.list<KubeObject>(CORALS);
  assert.deepEqual(
    dependent?.metadata.ownerReferences?.map(({ uid }) => uid),
    ['second'],
  );
  assert.deepEqual(names(reef, CONFIG_MAPS), ['second']);
});

test('orphan: a deletion right after a start waits until aggregated kinds are known, and lists those without a cache', async () => {
  const world = createWorld();
  let fill = (): void => {};
  let isComplete = false;
  const aggregatedKinds: CustomKinds = {
    list: () => (isComplete ? [CORALS] : []),
    isComplete: () => isComplete,
    follow: (subscribe) => {
      fill = () => void subscribe(CORALS, world.api.cache(CORALS));
      return () => {};
    },
  };
  const definition = ownerGarbageController({ resources: [CONFIG_MAPS] });
  const controller = new DrivenController(world, definition, world.api.informers, { aggregatedKinds });
  const reef: Reef = { world, controller, isAway: false, lie: undefined, forged: {} };
  put(reef, CONFIG_MAPS, 'owner');
  put(reef, CORALS, 'kept', { kind: 'ConfigMap', uid: 'owner' });
  const owner = { namespace: 'default', name: 'owner' };
  await world.api.client('user').delete(CONFIG_MAPS, owner, { propagationPolicy: 'Orphan' });
  await steps(reef, 20);
  assert.deepEqual(names(reef, CONFIG_MAPS), ['owner']);
  isComplete = true;
  await controller.settle();
  assert.deepEqual(names(reef, CONFIG_MAPS), []);
  fill();
  await controller.settle();
  assert.deepEqual(names(reef, CORALS), ['kept']);
});
