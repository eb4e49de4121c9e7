import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  CONFIG_MAPS,
  CUSTOM_RESOURCE_DEFINITIONS,
  type CustomResourceDefinition,
  type KubeObject,
  NAMESPACES,
  RESOURCE_QUOTAS,
  type ResourceRef,
} from '@holdfast/api';
import { StatusError } from '@holdfast/machinery';
import { waitFor } from '../support/wait.ts';
import { startWholeCluster } from '../support/whole-cluster.ts';

type Coral = KubeObject & { readonly spec: { readonly depth: number } };

const CORALS: ResourceRef<Coral> = {
  group: 'reef.example.com',
  version: 'v1',
  kind: 'Coral',
  plural: 'corals',
  namespaced: true,
};

const DEFINITION = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'corals.reef.example.com' },
  spec: {
    group: CORALS.group,
    scope: 'Namespaced',
    names: { plural: 'corals', kind: 'Coral' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: { spec: { type: 'object', properties: { depth: { type: 'integer' } } } },
          },
        },
      },
    ],
  },
} as unknown as CustomResourceDefinition;

const coral = (name: string): Coral => ({
  apiVersion: 'reef.example.com/v1',
  kind: 'Coral',
  metadata: { name, namespace: 'reef' },
  spec: { depth: 1 },
});

const isRefused = (error: unknown): boolean => error instanceof StatusError && error.code === 403;

test('controllers reach the objects of a kind that was defined while they ran', async (t) => {
  const { admin, ...cluster } = await startWholeCluster({ a: {} });
  t.after(() => cluster[Symbol.asyncDispose]());
  const named = { name: 'corals.reef.example.com' };
  await admin.create(NAMESPACES, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'reef' },
    spec: {},
    status: {},
  });
  await admin.create(CUSTOM_RESOURCE_DEFINITIONS, DEFINITION);
  await waitFor('the definition is established', async () => {
    const { status } = await admin.get(CUSTOM_RESOURCE_DEFINITIONS, named);
    return status.conditions?.some(({ type, status: is }) => type === 'Established' && is === 'True') === true;
  });
  await admin.create(RESOURCE_QUOTAS, {
    apiVersion: 'v1',
    kind: 'ResourceQuota',
    metadata: { name: 'few', namespace: 'reef' },
    spec: { hard: { 'count/corals.reef.example.com': '1' } },
    status: {},
  });
  const quotaUse = async (): Promise<string | undefined> =>
    (await admin.get(RESOURCE_QUOTAS, { namespace: 'reef', name: 'few' })).status.used?.[
      'count/corals.reef.example.com'
    ];
  await waitFor('the quota is counted', async () => (await quotaUse()) === '0');
  const owner = await admin.create(CORALS, coral('owner'));
  await assert.rejects(admin.create(CORALS, coral('second')), isRefused);
  await admin.create(CONFIG_MAPS, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {
      name: 'owned',
      namespace: 'reef',
      ownerReferences: [
        { apiVersion: 'reef.example.com/v1', kind: 'Coral', name: 'owner', uid: owner.metadata.uid ?? '' },
      ],
    },
  });
  await admin.delete(CORALS, { namespace: 'reef', name: 'owner' });
  await waitFor('the dependent follows its owner', async () => {
    return (await admin.find(CONFIG_MAPS, { namespace: 'reef', name: 'owned' })) === undefined;
  });
  await waitFor('the quota is given back', async () => (await quotaUse()) === '0');
  await admin.create(CORALS, coral('last'));
  await admin.delete(NAMESPACES, { name: 'reef' });
  await waitFor('the namespace is gone', async () => (await admin.find(NAMESPACES, { name: 'reef' })) === undefined);
  assert.deepEqual((await admin.list(CORALS)).items, []);
  await admin.delete(CUSTOM_RESOURCE_DEFINITIONS, named);
  await waitFor(
    'the definition is gone',
    async () => (await admin.find(CUSTOM_RESOURCE_DEFINITIONS, named)) === undefined,
  );
});
