import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import {
  type Fields,
  GoClient,
  type GoWatch,
  JSON_PATCH,
  MERGE_PATCH,
  must,
  STRATEGIC_PATCH,
} from '../support/go-client.ts';
import { waitFor } from '../support/wait.ts';
import { walkCluster } from '../support/walked-cluster.ts';
import {
  ALLOW_ALL,
  DEFINITIONS,
  type Definition,
  define,
  definitionOf,
  instanceOf,
  resourcesOf,
  undefine,
  versionOf,
} from '../support/walked-definitions.ts';
import { CONVERSION_SERVICE, WalkedWebhooks, WebhookWalk } from '../support/walked-webhooks.ts';

/** The conformance tests of custom resources that need a webhook server: AdmissionWebhook, CustomResourceConversionWebhook, CustomResourceFieldSelectors. */

let client: GoClient;
let webhooks: WalkedWebhooks;

walkCluster(['--memory'], async (cluster) => {
  ({ client } = cluster);
  webhooks = await WalkedWebhooks.deploy(client);
});

const OLD = versionOf('v1');
const NEW = versionOf('v2', ALLOW_ALL, { storage: false });
const START = { 'mutation-start': 'yes' };
const STAGE_1 = { ...START, 'mutation-stage-1': 'yes' };
const STAGE_2 = { ...STAGE_1, 'mutation-stage-2': 'yes' };

const custom = (walk: WebhookWalk, versions: readonly Fields[]): Definition =>
  definitionOf({ group: 'webhook.example.com', name: `e2e-test-${walk.name}-crd`, versions });

const rulesFor = ({ spec }: Definition, ...operations: readonly string[]): Fields => ({
  operations,
  apiGroups: [spec.group],
  apiVersions: spec.versions.map(({ name }) => name),
  resources: [spec.names.plural],
});

/** Two webhooks add data to custom resources, one only where they are created. */
const mutateIn = (walk: WebhookWalk, definition: Definition): Promise<void> =>
  walk.register(
    'Mutating',
    walk.hook(
      'mutate-custom-resource-data-stage-1.k8s.io',
      '/mutating-custom-resource',
      rulesFor(definition, 'CREATE', 'UPDATE'),
    ),
    walk.hook(
      'mutate-custom-resource-data-stage-2.k8s.io',
      '/mutating-custom-resource',
      rulesFor(definition, 'CREATE'),
    ),
  );

const withData = (definition: Definition, name: string, namespace: string, data: Fields): Fields => ({
  ...instanceOf(definition, 'v1', name, namespace),
  data,
});

describe('AdmissionWebhook of custom resources', { concurrency: 8 }, () => {
  test('webhooks deny creation, update and deletion', async () => {
    const walk = await WebhookWalk.begin(webhooks, 'deny-custom');
    const definition = await define(client, custom(walk, [OLD]));
    const rules = rulesFor(definition, 'CREATE', 'UPDATE', 'DELETE');
    await walk.register(
      'Validating',
      walk.hook('deny-unwanted-custom-resource-data.k8s.io', '/custom-resource', rules),
    );
    const url = resourcesOf(definition, 'v1', walk.name);
    const instance = (name: string, value: string) =>
      withData(definition, name, walk.name, { 'webhook-e2e-test': value });
    const unwanted = /the custom resource contains unwanted data/;
    assert.match((await client.dynamic('POST', url, instance('cr-instance-1', 'webhook-disallow'))).message, unwanted);

    await must(201, client.dynamic('POST', url, instance('cr-instance-2', 'webhook-nondeletable')));
    const second = `${url}/cr-instance-2`;
    const update = async (value: string) => {
      const { object } = await must(200, client.dynamic('GET', second));
      return client.dynamic('PUT', second, { ...object, data: { 'webhook-e2e-test': value } });
    };
    assert.match((await update('webhook-disallow')).message, unwanted);
    const kept = await client.dynamic('DELETE', second, { kind: 'DeleteOptions', apiVersion: 'v1' });
    assert.match(kept.message, /the custom resource cannot be deleted because it contains unwanted key and value/);
    await must(200, update('webhook-allow'));
    await must(200, client.dynamic('DELETE', second, { kind: 'DeleteOptions', apiVersion: 'v1' }));
    await undefine(client, definition);
  });

  test('webhooks mutate custom resources', async () => {
    const walk = await WebhookWalk.begin(webhooks, 'mutate-custom');
    const definition = await define(client, custom(walk, [OLD]));
    await mutateIn(walk, definition);
    const url = resourcesOf(definition, 'v1', walk.name);
    const made = await must(201, client.dynamic('POST', url, withData(definition, 'cr-instance-1', walk.name, START)));
    assert.deepEqual(made.at('data'), STAGE_2);
    await undefine(client, definition);
  });

  test('a webhook mutates a custom resource stored in another version', async () => {
    const walk = await WebhookWalk.begin(webhooks, 'mutate-versions');
    const definition = await define(client, custom(walk, [OLD, NEW]));
    await mutateIn(walk, definition);
    const instance = withData(definition, 'cr-instance-1', walk.name, START);
    await must(201, client.dynamic('POST', resourcesOf(definition, 'v1', walk.name), instance));
    const versions = [
      { ...OLD, storage: false },
      { ...NEW, storage: true },
    ];
    await must(
      200,
      client.patch(`${DEFINITIONS}/${definition.metadata.name}`, STRATEGIC_PATCH, { spec: { versions } }),
    );
    const patched = await must(
      200,
      client.patch(`${resourcesOf(definition, 'v2', walk.name)}/cr-instance-1`, JSON_PATCH, [
        { op: 'add', path: '/dummy', value: 'test' },
      ]),
    );
    assert.deepEqual([patched.at('data'), patched.at('dummy')], [STAGE_2, 'test']);
    await undefine(client, definition);
  });

  test('fields that a webhook adds are pruned by the schema', async () => {
    const walk = await WebhookWalk.begin(webhooks, 'mutate-pruned');
    const properties = { 'mutation-start': { type: 'string' }, 'mutation-stage-1': { type: 'string' } };
    const schema = { openAPIV3Schema: { type: 'object', properties: { data: { type: 'object', properties } } } };
    const definition = await define(
      client,
      custom(walk, [
        { ...OLD, schema },
        { ...NEW, schema },
      ]),
    );
    await mutateIn(walk, definition);
    const url = resourcesOf(definition, 'v1', walk.name);
    const made = await must(201, client.dynamic('POST', url, withData(definition, 'cr-instance-1', walk.name, START)));
    assert.deepEqual(made.at('data'), STAGE_1);
    await undefine(client, definition);
  });

  test('a webhook denies the creation of a definition', async () => {
    const walk = await WebhookWalk.begin(webhooks, 'deny-definition');
    const rule = {
      operations: ['CREATE'],
      apiGroups: ['apiextensions.k8s.io'],
      apiVersions: ['*'],
      resources: ['customresourcedefinitions'],
    };
    const scope = { namespaceSelector: undefined, objectSelector: { matchLabels: { [walk.name]: 'true' } } };
    await walk.register('Validating', walk.hook('deny-crd-with-unwanted-label.k8s.io', '/crd', rule, scope));
    const labels = { [walk.name]: 'true', 'webhook-e2e-test': 'webhook-disallow' };
    const definition = definitionOf({
      group: 'webhook.example.com',
      name: 'e2e-test-webhook-deny-crd',
      versions: [OLD],
      labels,
    });
    for (const form of ['typed', 'dynamic'] as const) {
      assert.match((await client[form]('POST', DEFINITIONS, definition)).message, /the crd contains unwanted label/);
    }
  });
});

const HOST_PORT = { hostPort: { type: 'string' } };
const HOST = { host: { type: 'string' }, port: { type: 'string' } };
const propertied = (properties: Fields): Fields => ({ openAPIV3Schema: { type: 'object', properties } });

interface Convertible {
  readonly walk: WebhookWalk;
  /** The two versions. */
  readonly more?: readonly [Fields, Fields];
  readonly service?: Fields;
}

function convertible({ walk, more: [first, second] = [{}, {}], service = {} }: Convertible): Definition {
  const webhook = {
    clientConfig: webhooks.target('/crdconvert', service),
    conversionReviewVersions: ['v1', 'v1beta1'],
  };
  return definitionOf({
    group: 'stable.example.com',
    name: `e2e-test-${walk.name}-crd`,
    versions: [
      versionOf('v1', propertied(HOST_PORT), first),
      versionOf('v2', propertied(HOST), { storage: false, ...second }),
    ],
    spec: { conversion: { strategy: 'Webhook', webhook } },
  });
}

async function conversionIsReady(definition: Definition, namespace: string): Promise<void> {
  const url = resourcesOf(definition, 'v2', namespace);
  await waitFor('the conversion works', async () => {
    const answer = await client.dynamic('POST', url, instanceOf(definition, 'v2', 'stub', namespace));
    return answer.status === 201;
  });
  await must(200, client.dynamic('DELETE', `${url}/stub`, { kind: 'DeleteOptions', apiVersion: 'v1' }));
}

const bodyOf = ({ apiVersion, hostPort, host, port }: Fields): unknown => [apiVersion, hostPort, host, port];
const AS_V1 = ['stable.example.com/v1', 'localhost:8080', undefined, undefined];
const AS_V2 = ['stable.example.com/v2', undefined, 'localhost', '8080'];

describe('a webhook converts custom resources', { concurrency: 8 }, () => {
  test('CustomResourceConversionWebhook: an object of v1 is read in v2', async () => {
    const walk = await WebhookWalk.begin(webhooks, 'convert-one');
    const definition = await define(client, convertible({ walk }));
    await conversionIsReady(definition, walk.name);
    const instance = { ...instanceOf(definition, 'v1', 'cr-instance-1', walk.name), hostPort: 'localhost:8080' };
    await must(201, client.dynamic('POST', resourcesOf(definition, 'v1', walk.name), instance));
    const read = await must(200, client.dynamic('GET', `${resourcesOf(definition, 'v2', walk.name)}/cr-instance-1`));
    assert.deepEqual(bodyOf(read.object), AS_V2);
    await undefine(client, definition);
  });

  test('CustomResourceConversionWebhook: a list of objects stored in two versions', async () => {
    const walk = await WebhookWalk.begin(webhooks, 'convert-list');
    const definition = await define(client, convertible({ walk, service: { name: CONVERSION_SERVICE } }));
    await conversionIsReady(definition, walk.name);
    const url = resourcesOf(definition, 'v1', walk.name);
    const instance = (name: string) => ({
      ...instanceOf(definition, 'v1', name, walk.name),
      hostPort: 'localhost:8080',
    });
    await must(201, client.dynamic('POST', url, instance('cr-instance-1')));
    await storeAs(definition, 'v2');
    await must(201, client.dynamic('POST', url, instance('cr-instance-2')));
    for (const [version, expected] of [
      ['v1', AS_V1],
      ['v2', AS_V2],
    ] as const) {
      const list = await must(200, client.dynamic('GET', resourcesOf(definition, version, walk.name)));
      assert.deepEqual(list.names.toSorted(), ['cr-instance-1', 'cr-instance-2']);
      assert.deepEqual((list.at('items') as readonly Fields[]).map(bodyOf), [expected, expected]);
    }
    // The conformance test takes the webhook away first: nothing can be converted any more.
    await webhooks.removeService(CONVERSION_SERVICE);
    await undefine(client, definition);
  });

  test('CustomResourceFieldSelectors: lists, watches and informers contain the selected objects', async () => {
    const walk = await WebhookWalk.begin(webhooks, 'select-fields');
    const fields = (...paths: readonly string[]) => ({ selectableFields: paths.map((jsonPath) => ({ jsonPath })) });
    const definition = await define(
      client,
      convertible({ walk, more: [fields('.hostPort'), fields('.host', '.port')] }),
    );
    await conversionIsReady(definition, walk.name);
    await walkSelectors(definition, walk.name);
    await undefine(client, definition);
  });
});

/** A patch names no revision, so the status that the server writes at the same time does not conflict. */
async function storeAs({ metadata, spec }: Definition, stored: string): Promise<void> {
  const versions = spec.versions.map((version) => ({ ...version, storage: version['name'] === stored }));
  await must(200, client.patch(`${DEFINITIONS}/${metadata.name}`, MERGE_PATCH, { spec: { versions } }));
}

/** Names that were added and names that were deleted, as a follower has seen them. */
interface Seen {
  readonly added: ReadonlySet<string>;
  readonly deleted: ReadonlySet<string>;
}

const seenBy = ({ events }: GoWatch): Seen => {
  const namesOf = (type: string) =>
    new Set(events.filter((event) => event.type === type).map(({ object }) => object.metadata.name));
  return { added: namesOf('ADDED'), deleted: namesOf('DELETED') };
};

/** Acts as a Go informer: a list from the cache, then a watch from its end. */
async function inform(url: string, fieldSelector: string): Promise<GoWatch> {
  const selected = `${url}?fieldSelector=${encodeURIComponent(fieldSelector)}`;
  const list = await must(200, client.dynamic('GET', `${selected}&limit=500&resourceVersion=0`));
  assert.deepEqual(list.names, []);
  const since = `resourceVersion=${String(list.at('metadata.resourceVersion'))}`;
  return client.watch(`${selected}&allowWatchBookmarks=true&${since}&timeoutSeconds=300&watch=true`);
}

async function walkSelectors(definition: Definition, namespace: string): Promise<void> {
  const v1 = resourcesOf(definition, 'v1', namespace);
  const v2 = resourcesOf(definition, 'v2', namespace);
  const select = (url: string, selector: string) => `${url}?fieldSelector=${encodeURIComponent(selector)}`;
  const namesOf = async (url: string, selector: string) =>
    (await must(200, client.dynamic('GET', select(url, selector)))).names.toSorted();
  const ofHost = [await client.watch(`${select(v2, 'host=host1')}&watch=true`), await inform(v2, 'host=host1')];
  const ofPort = [
    await client.watch(`${select(v2, 'host=host1,port=80')}&watch=true`),
    await client.watch(`${select(v1, 'hostPort=host1:80')}&watch=true`),
    await inform(v2, 'host=host1,port=80'),
  ];
  const allSee = async (watches: readonly GoWatch[], seen: Seen): Promise<void> => {
    for (const watch of watches) await waitFor('the watch has seen it', () => isDeepStrictEqual(seenBy(watch), seen));
  };

  const given = [{ host: 'host1', port: '80' }, { host: 'host1', port: '8080' }, { host: 'host2' }];
  for (const [index, fields] of given.entries()) {
    const instance = { ...instanceOf(definition, 'v2', `cr-${index}`, namespace), ...fields };
    await must(201, client.dynamic('POST', v2, instance));
  }
  assert.deepEqual(await namesOf(v2, 'host=host1'), ['cr-0', 'cr-1']);
  assert.deepEqual(await namesOf(v2, 'host=host1,port=80'), ['cr-0']);
  assert.deepEqual(await namesOf(v1, 'hostPort=host1:80'), ['cr-0']);
  assert.deepEqual(await namesOf(v1, 'hostPort=host1:8080'), ['cr-1']);
  const [both, one] = [new Set(['cr-0', 'cr-1']), new Set(['cr-0'])];
  await allSee(ofHost, { added: both, deleted: new Set() });
  await allSee(ofPort, { added: one, deleted: new Set() });

  const options = { kind: 'DeleteOptions', apiVersion: 'v1' };
  await must(200, client.dynamic('DELETE', select(v2, 'host=host1,port=80'), options));
  const { object } = await must(200, client.dynamic('GET', `${v2}/cr-1`));
  await must(200, client.dynamic('PUT', `${v2}/cr-1`, { ...object, host: 'host2' }));
  assert.deepEqual(await namesOf(v2, 'host=host1'), []);
  assert.deepEqual(await namesOf(v2, 'host=host1,port=80'), []);
  await allSee(ofHost, { added: both, deleted: both });
  await allSee(ofPort, { added: one, deleted: one });
  for (const watch of [...ofHost, ...ofPort]) watch.close();
}
