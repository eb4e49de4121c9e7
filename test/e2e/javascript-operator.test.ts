import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { before, test } from 'node:test';
import {
  ApiextensionsV1Api,
  CoordinationV1Api,
  CoreV1Api,
  CustomObjectsApi,
  type V1CustomResourceDefinition,
  type V1CustomResourceDefinitionVersion,
} from '@kubernetes/client-node';
import { type ConversionReview, converted, serveWebhook, type WebhookServer } from '../support/conversion-webhook.ts';
import { HoldfastProcess } from '../support/holdfast-process.ts';
import { loadKubeConfig } from '../support/javascript-client.ts';
import { NODE_FLAGS } from '../support/node-flags.ts';
import { waitFor } from '../support/wait.ts';
import { resourcesOfFile } from '../support/walked-cluster.ts';

const OPERATOR = path.resolve(import.meta.dirname, '../support/shop-operator-main.ts');
const namespace = 'default';
const NAME = 'shops.shops.example.com';

let dataDir: string;
let cluster: HoldfastProcess;
let webhook: WebhookServer;
const operators = new Map<string, ChildProcess>();

const resources = resourcesOfFile();
before(async () => {
  dataDir = mkdtempSync(path.join(tmpdir(), 'holdfast-operator-'));
  resources.defer(() => rmSync(dataDir, { recursive: true, force: true }));
  cluster = await HoldfastProcess.start([], dataDir);
  resources.defer(() => cluster[Symbol.asyncDispose]());
  webhook = resources.use(await serveWebhook(convertShops));
  resources.defer(endOperators);
});

const convertShops = (review: unknown): unknown =>
  converted(review as ConversionReview, (object) => {
    const { goods, stock } = object.spec as { goods?: string[]; stock?: { goods: string[] } };
    const all = stock?.goods ?? goods ?? [];
    const isSecond = (review as ConversionReview).request.desiredAPIVersion.endsWith('/v2');
    return { ...object, spec: isSecond ? { stock: { goods: all } } : { goods: all } };
  });

async function endOperators(): Promise<void> {
  for (const name of operators.keys()) await end(name, 'SIGKILL');
}

async function begin(name: string, version: string): Promise<void> {
  const child = spawn(process.execPath, [...NODE_FLAGS, OPERATOR, cluster.ready.kubeconfig, name, version], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  operators.set(name, child);
  await once(child.stdout, 'data');
}

async function end(name: string, signal: NodeJS.Signals): Promise<void> {
  const child = operators.get(name);
  operators.delete(name);
  if (child === undefined || child.exitCode !== null) return;
  const exited = once(child, 'exit');
  child.kill(signal);
  await exited;
}

const goods = { type: 'array', items: { type: 'string' } };
const versionOf = (name: string, spec: object, isStorage: boolean): V1CustomResourceDefinitionVersion =>
  ({
    name,
    served: true,
    storage: isStorage,
    subresources: { status: {} },
    schema: {
      openAPIV3Schema: {
        type: 'object',
        properties: {
          spec: { type: 'object', ...spec },
          status: {
            type: 'object',
            properties: { goods: { type: 'integer' }, by: { type: 'string' }, observedGeneration: { type: 'integer' } },
          },
        },
      },
    },
  }) as V1CustomResourceDefinitionVersion;

const FIRST = {
  properties: { goods },
  x_kubernetes_validations: [{ rule: 'self.goods.size() <= 5', message: 'the shelf is full' }],
};
const SECOND = { properties: { stock: { type: 'object', properties: { goods } } } };

const definition: V1CustomResourceDefinition = {
  metadata: { name: NAME },
  spec: {
    group: 'shops.example.com',
    scope: 'Namespaced',
    names: { plural: 'shops', kind: 'Shop' },
    versions: [versionOf('v1', FIRST, true)],
  },
};

interface Shop {
  readonly metadata: { readonly finalizers?: readonly string[]; readonly [key: string]: unknown };
  readonly spec: Readonly<Record<string, unknown>>;
  readonly status?: { readonly goods?: number; readonly by?: string };
}

test('an operator survives install, crash, upgrade by a conversion webhook, and uninstall', async () => {
  const config = loadKubeConfig(cluster.ready.kubeconfig);
  const definitions = config.makeApiClient(ApiextensionsV1Api);
  const objects = config.makeApiClient(CustomObjectsApi);
  const core = config.makeApiClient(CoreV1Api);
  const shops = (version: string) => ({ group: 'shops.example.com', version, namespace, plural: 'shops' });
  const read = async (version: string, name: string): Promise<Shop> =>
    (await objects.getNamespacedCustomObject({ ...shops(version), name })) as Shop;
  const write = async (version: string, name: string, spec: object): Promise<unknown> => {
    const body = { ...(await read(version, name)), spec };
    return objects.replaceNamespacedCustomObject({ ...shops(version), name, body });
  };
  const shelfOf = async (name: string): Promise<string | undefined> =>
    (await core.readNamespacedConfigMap({ name: `${name}-shelf`, namespace }).catch(() => undefined))?.data?.['goods'];
  const leader = async (): Promise<string | undefined> =>
    (await config.makeApiClient(CoordinationV1Api).readNamespacedLease({ name: 'shop-operator', namespace })).spec
      ?.holderIdentity;

  // Install.
  await definitions.createCustomResourceDefinition({ body: definition });
  await waitFor('the kind is served', async () => {
    const { status } = await definitions.readCustomResourceDefinition({ name: NAME });
    return status?.conditions?.some(({ type, status: is }) => type === 'Established' && is === 'True');
  });
  await begin('first', 'v1');
  await waitFor('the first operator leads', async () => (await leader().catch(() => undefined)) === 'first');
  await begin('second', 'v1');
  const body = {
    apiVersion: 'shops.example.com/v1',
    kind: 'Shop',
    metadata: { name: 'corner' },
    spec: { goods: ['tea'] },
  };
  await objects.createNamespacedCustomObject({ ...shops('v1'), body });

  // Reconcile.
  await waitFor('the shop is stocked', async () => (await read('v1', 'corner')).status?.goods === 1);
  assert.equal(await shelfOf('corner'), 'tea');
  const stocked = await read('v1', 'corner');
  assert.deepEqual([stocked.metadata.finalizers, stocked.status?.by], [['shops.example.com/cleanup'], 'first']);
  const fieldSelector = 'involvedObject.kind=Shop,reason=Stocked';
  await waitFor(
    'the event is there',
    async () => (await core.listNamespacedEvent({ namespace, fieldSelector })).items[0],
  );
  await assert.rejects(write('v1', 'corner', { goods: [1, 2, 3, 4, 5, 6].map(String) }), /the shelf is full/);

  // Crash of who leads.
  await end('first', 'SIGKILL');
  await write('v1', 'corner', { goods: ['tea', 'salt'] });
  await waitFor('the second operator takes over', async () => (await read('v1', 'corner')).status?.by === 'second');
  assert.equal(await shelfOf('corner'), 'tea,salt');

  // Upgrade.
  const latest = await definitions.readCustomResourceDefinition({ name: NAME });
  latest.spec.versions = [versionOf('v1', FIRST, false), versionOf('v2', SECOND, true)];
  latest.spec.conversion = {
    strategy: 'Webhook',
    webhook: {
      conversionReviewVersions: ['v1'],
      clientConfig: { url: `${webhook.url}/convert`, caBundle: webhook.caBundle },
    },
  };
  await definitions.replaceCustomResourceDefinition({ name: NAME, body: latest });
  await waitFor('the second version shows the shop', async () =>
    read('v2', 'corner').then(
      ({ spec }) => JSON.stringify(spec) === '{"stock":{"goods":["tea","salt"]}}',
      () => false,
    ),
  );
  await write('v2', 'corner', { stock: { goods: ['sugar'] } });
  await waitFor('the operator of the first version goes on', async () => (await shelfOf('corner')) === 'sugar');
  await begin('third', 'v2');
  await end('second', 'SIGTERM');
  await write('v1', 'corner', { goods: ['sugar', 'rice', 'tea'] });
  await waitFor('the operator of the second version takes over', async () => {
    const { status } = await read('v2', 'corner');
    return status?.by === 'third' && status.goods === 3;
  });
  const { status } = await definitions.readCustomResourceDefinition({ name: NAME });
  assert.deepEqual(status?.storedVersions, ['v1', 'v2']);
  assert.ok(webhook.reviews.length > 0);

  // Uninstall: the operator finishes what holds the shop, and the definition goes.
  await definitions.deleteCustomResourceDefinition({ name: NAME });
  await waitFor('the definition is gone', async () =>
    definitions.readCustomResourceDefinition({ name: NAME }).then(
      () => false,
      (error: unknown) => (error as { code?: number }).code === 404,
    ),
  );
  await waitFor('nothing is left', async () => {
    const { items } = await core.listNamespacedConfigMap({ namespace });
    return items.every(({ metadata }) => metadata?.name?.startsWith('corner') !== true);
  });
});
