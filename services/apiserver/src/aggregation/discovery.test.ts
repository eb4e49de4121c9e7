import assert from 'node:assert/strict';
import { test } from 'node:test';
import { API_SERVICES, NAME, serveExtension, startAggregatedWorld } from '../testing/aggregated.ts';
import { CORALS, coral, coralDefinition, define, definitionUrl, until } from '../testing/custom.ts';
import { GROUP, ROOT } from '../testing/extension-server.ts';
import { requestOf, startTestApi, type TestApi } from '../testing/fixture.ts';

const AGGREGATED = { accept: 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList' };

interface Group {
  readonly name?: string;
  readonly metadata?: { readonly name: string };
  readonly versions: readonly {
    readonly version: string;
    readonly freshness?: string;
    readonly resources?: readonly object[];
  }[];
}

async function groupsOf(api: TestApi, headers: Readonly<Record<string, string>> = {}): Promise<readonly Group[]> {
  const { body } = await api.call('GET', '/apis', { headers });
  const { groups, items } = body as { groups?: Group[]; items?: Group[] };
  return groups ?? items ?? [];
}

const namesOf = (groups: readonly Group[]): readonly string[] =>
  groups.map(({ name, metadata }) => name ?? metadata?.name ?? '');

async function ownGroup(api: TestApi): Promise<Group | undefined> {
  return (await groupsOf(api, AGGREGATED)).find(({ metadata }) => metadata?.name === GROUP);
}

const isLocal = (spec: object): boolean => !('service' in spec);

test('every Kubernetes group-version has a registration, as in a real cluster', async (t) => {
  const api = await startTestApi();
  t.after(() => api.stop());
  const { body } = await api.call('GET', API_SERVICES);
  const { items } = body as { items: { metadata: { name: string; labels: object }; spec: object; status: object }[] };
  assert.equal(items.length, 20);
  assert.ok(items.every(({ spec }) => isLocal(spec)));
  const [core] = items;
  assert.deepEqual(
    [core?.metadata.name, core?.metadata.labels, core?.spec],
    [
      'v1.',
      { 'kube-aggregator.kubernetes.io/automanaged': 'onstart' },
      { version: 'v1', groupPriorityMinimum: 18_000, versionPriority: 1 },
    ],
  );
  assert.equal(
    items.find(({ metadata }) => metadata.name === 'v1.apiregistration.k8s.io'),
    undefined,
  );
});

for (const hasAggregatedDiscovery of [true, false]) {
  const form = hasAggregatedDiscovery ? 'one document for all groups' : 'a list for each version';
  test(`the resources of a server are discovered, whether it has ${form}`, async (t) => {
    const world = await startAggregatedWorld(t);
    world.extension.hasAggregatedDiscovery = hasAggregatedDiscovery;
    await serveExtension(world);
    const { api } = world;
    await world.register({ groupPriorityMinimum: 17_790 });
    await until(async () => (await ownGroup(api))?.versions[0]?.freshness === 'Current');
    for (const headers of [AGGREGATED, {}]) {
      assert.deepEqual(namesOf(await groupsOf(api, headers)).slice(0, 4), [
        'apiregistration.k8s.io',
        'apps',
        GROUP,
        'events.k8s.io',
      ]);
    }
    assert.deepEqual((await ownGroup(api))?.versions, [
      {
        version: 'v1alpha1',
        resources: [
          {
            resource: 'flunders',
            responseKind: hasAggregatedDiscovery
              ? { group: GROUP, version: 'v1alpha1', kind: 'Flunder' }
              : { group: '', version: '', kind: 'Flunder' },
            scope: 'Namespaced',
            singularResource: 'flunder',
            verbs: ['create', 'delete', 'get', 'list', 'watch'],
            shortNames: ['fl'],
          },
        ],
        freshness: 'Current',
      },
    ]);
    const single = await api.call('GET', `/apis/${GROUP}`);
    assert.equal(single.at('preferredVersion.groupVersion'), `${GROUP}/v1alpha1`);
    const paths = (await api.call('GET', '/')).at('paths') as string[];
    assert.ok(paths.includes(ROOT));
    const accept = AGGREGATED.accept.replace('json', 'vnd.kubernetes.protobuf');
    const protobuf = await api.server.handle(requestOf('GET', '/apis', { headers: { accept } }));
    assert.equal(protobuf.status, 200);
    await api.call('DELETE', `${API_SERVICES}/${NAME}`);
    await until(async () => (await ownGroup(api)) === undefined);
  });
}

test('its OpenAPI document is served next to the local ones, and an invalid one is omitted', async (t) => {
  const world = await startAggregatedWorld(t);
  await serveExtension(world);
  const { api } = world;
  await world.register();
  const name = ROOT.slice(1);
  type Paths = Readonly<Record<string, { readonly serverRelativeURL: string }>>;
  const paths = async (): Promise<Paths> => (await api.call('GET', '/openapi/v3')).at('paths') as Paths;
  await until(async () => Object.hasOwn(await paths(), name));
  const url = (await paths())[name]?.serverRelativeURL ?? '';
  assert.match(url, /^\/openapi\/v3\/apis\/wardle\.example\.com\/v1alpha1\?hash=[0-9A-F]{128}$/);
  const document = await api.call('GET', url);
  assert.equal(document.at('info.title'), 'sample');
  assert.equal(document.headers['cache-control'], 'public, immutable');
  const accept = 'application/com.github.proto-openapi.spec.v3@v1.0+protobuf';
  assert.equal((await api.server.handle(requestOf('GET', url, { headers: { accept } }))).status, 200);
  assert.equal((await api.call('GET', '/openapi/v3/apis/apps/v1')).at('info.title'), 'Kubernetes');
  await api.call('DELETE', `${API_SERVICES}/${NAME}`);
  await until(async () => !Object.hasOwn(await paths(), name));
});

const FLUNDER = 'com.example.wardle.v1alpha1.Flunder';

type Definitions = Readonly<
  Record<string, { readonly properties?: { readonly metadata?: { readonly $ref: string } } }>
>;

const definitionsOf = async (api: TestApi): Promise<Definitions> =>
  (await api.call('GET', '/openapi/v2')).at('definitions') as Definitions;

test('its OpenAPI 2 document is merged into the local one, and is removed with its registration', async (t) => {
  const world = await startAggregatedWorld(t);
  const { api } = world;
  const before = await api.call('GET', '/openapi/v2');
  await serveExtension(world);
  await world.register();
  await until(async () => Object.hasOwn(await definitionsOf(api), FLUNDER));
  const document = await api.call('GET', '/openapi/v2');
  assert.notEqual(document.headers['etag'], before.headers['etag']);
  const definitions = document.at('definitions') as Definitions;
  const meta = 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta';
  assert.equal(definitions[FLUNDER]?.properties?.metadata?.$ref, `#/definitions/${meta}_v2`);
  assert.deepEqual(definitions[meta], (before.at('definitions') as Definitions)[meta]);
  const paths = document.at('paths') as Readonly<Record<string, unknown>>;
  assert.ok(Object.hasOwn(paths, `${ROOT}/namespaces/{namespace}/flunders`));
  assert.equal(JSON.stringify(paths).includes('stolen'), false);
  const accept = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf';
  const protobuf = await api.server.handle(requestOf('GET', '/openapi/v2', { headers: { accept } }));
  assert.ok(protobuf.body.kind === 'json' && Buffer.from(protobuf.body.bytes()).includes(FLUNDER));
  await api.call('DELETE', `${API_SERVICES}/${NAME}`);
  await until(async () => !Object.hasOwn(await definitionsOf(api), FLUNDER));
  assert.equal((await api.call('GET', '/openapi/v2')).headers['etag'], before.headers['etag']);
});

test('the OpenAPI 3 document of a server that publishes only OpenAPI 2 is converted from that', async (t) => {
  const world = await startAggregatedWorld(t);
  const { api } = world;
  await serveExtension(world);
  world.extension.intercept = (request, response) => {
    if (request.url?.startsWith('/openapi/v3') !== true) return false;
    response.writeHead(404).end();
    return true;
  };
  await world.register();
  const name = ROOT.slice(1);
  await until(async () => Object.hasOwn((await api.call('GET', '/openapi/v3')).at('paths') as object, name));
  const { body } = await api.call('GET', `/openapi/v3/${name}`);
  const { openapi, paths, components } = body as { openapi: string; paths: object; components: { schemas: object } };
  assert.equal(openapi, '3.0.0');
  assert.ok(Object.hasOwn(paths, `${ROOT}/namespaces/{namespace}/flunders`));
  assert.ok(Object.hasOwn(components.schemas, FLUNDER));
  assert.equal(JSON.stringify(body).includes('#/definitions/'), false);
});

for (const [what, body] of [
  ['a reference to nothing', JSON.stringify({ swagger: '2.0', paths: { [`${ROOT}/x`]: badItem('#/definitions/x') } })],
  ['too long', JSON.stringify({ swagger: '2.0', padding: 'x'.repeat(4_200_000) })],
  ['no JSON', 'hello'],
] as const) {
  test(`an invalid OpenAPI 2 document affects no other: ${what}`, async (t) => {
    const world = await startAggregatedWorld(t);
    const { api } = world;
    const before = await api.call('GET', '/openapi/v2');
    await serveExtension(world);
    world.extension.intercept = (request, response) => {
      if (request.url !== '/openapi/v2') return false;
      response.writeHead(200, { 'content-type': 'application/json' }).end(body);
      return true;
    };
    await world.register();
    // Both documents are taken over together.
    const name = ROOT.slice(1);
    await until(async () => Object.hasOwn((await api.call('GET', '/openapi/v3')).at('paths') as object, name));
    assert.equal((await api.call('GET', '/openapi/v2')).headers['etag'], before.headers['etag']);
  });
}

function badItem($ref: string): object {
  return { get: { responses: { '200': { description: 'OK', schema: { $ref } } } } };
}

for (const [what, url, body] of [
  ['no document', `/openapi/v3${ROOT}?hash=1`, '[]'],
  [
    'a place elsewhere',
    '/openapi/v3',
    JSON.stringify({ paths: { [ROOT.slice(1)]: { serverRelativeURL: '/secret' } } }),
  ],
] as const) {
  test(`an invalid OpenAPI document affects no other: ${what}`, async (t) => {
    const world = await startAggregatedWorld(t);
    await serveExtension(world);
    const asked: string[] = [];
    world.extension.intercept = (request, response) => {
      asked.push(request.url ?? '');
      if (request.url !== url) return false;
      response.writeHead(200, { 'content-type': 'application/json' }).end(body);
      return true;
    };
    await world.register();
    await until(async () => asked.includes(url) && (await ownGroup(world.api))?.versions[0]?.freshness === 'Current');
    assert.equal(
      Object.hasOwn((await world.api.call('GET', '/openapi/v3')).at('paths') as object, ROOT.slice(1)),
      false,
    );
    assert.equal(asked.includes('/secret'), false);
  });
}

test('an unavailable server is stale with its last known resources; one that never answered has none', async (t) => {
  const world = await startAggregatedWorld(t);
  const { api } = world;
  await world.register();
  await world.condition('ServiceNotFound');
  assert.deepEqual((await ownGroup(api))?.versions, [{ version: 'v1alpha1', freshness: 'Stale' }]);
  await serveExtension(world);
  await until(async () => (await ownGroup(api))?.versions[0]?.freshness === 'Current');
  await api.call('DELETE', '/api/v1/namespaces/sample/services/api');
  await until(async () => (await ownGroup(api))?.versions[0]?.freshness === 'Stale');
  assert.equal((await ownGroup(api))?.versions[0]?.resources?.length, 1);
});

const BAD: readonly (readonly [what: string, body: string])[] = [
  ['no JSON', 'hello'],
  ['another kind', '{"kind":"Pod"}'],
  ['no list', '{"kind":"APIResourceList","resources":7}'],
  ['entries that are none', '{"kind":"APIResourceList","resources":[null]}'],
  ['more than anybody has', JSON.stringify({ kind: 'APIResourceList', resources: Array(1_001).fill({}) })],
  ['too long', JSON.stringify({ kind: 'APIResourceList', padding: 'x'.repeat(1_100_000) })],
];
for (const [what, body] of BAD) {
  test(`an invalid list of resources affects no other: ${what}`, async (t) => {
    const world = await startAggregatedWorld(t);
    await serveExtension(world);
    let asked = 0;
    world.extension.intercept = (request, response) => {
      if (request.url !== ROOT) return false;
      asked++;
      response.writeHead(200, { 'content-type': 'application/json' }).end(body);
      return true;
    };
    await world.register();
    await world.condition('Passed');
    await until(async () => asked >= 3);
    const { api } = world;
    assert.deepEqual((await ownGroup(api))?.versions, [{ version: 'v1alpha1', freshness: 'Stale' }]);
    assert.equal((await groupsOf(api, AGGREGATED)).length, (await groupsOf(api)).length);
  });
}

test('names of invalid types in a list of resources are omitted', async (t) => {
  const world = await startAggregatedWorld(t);
  await serveExtension(world);
  world.extension.intercept = (request, response) => {
    if (request.url !== ROOT) return false;
    const resources = [
      { name: 'a', kind: 1, verbs: ['get', 2], shortNames: 'x', namespaced: 'yes', __proto__: { b: 1 } },
    ];
    response.writeHead(200).end(JSON.stringify({ kind: 'APIResourceList', resources }));
    return true;
  };
  await world.register();
  await until(async () => (await ownGroup(world.api))?.versions[0]?.freshness === 'Current');
  assert.deepEqual((await ownGroup(world.api))?.versions[0]?.resources, [
    {
      resource: 'a',
      responseKind: { group: '', version: '', kind: '' },
      scope: 'Cluster',
      singularResource: '',
      verbs: ['get'],
    },
  ]);
});

test('every version of a definition is registered, and unregistered with it', async (t) => {
  const api = await startTestApi();
  t.after(() => api.stop());
  await define(api, coralDefinition({}));
  const url = `${API_SERVICES}/v1.reef.example.com`;
  await until(async () => (await api.call('GET', url)).status === 200);
  const made = await api.call('GET', url);
  assert.deepEqual(
    [made.at('spec'), made.at('metadata.labels'), made.at('status.conditions.0.reason')],
    [
      { group: 'reef.example.com', version: 'v1', groupPriorityMinimum: 1000, versionPriority: 100 },
      { 'kube-aggregator.kubernetes.io/automanaged': 'true' },
      'Local',
    ],
  );
  await api.call('PATCH', url, { body: { spec: { versionPriority: 7 } } });
  await until(async () => (await api.call('GET', url)).at('spec.versionPriority') === 100);
  await api.call('DELETE', url);
  await until(async () => (await api.call('GET', url)).status === 200);
  assert.equal((await api.call('POST', CORALS, { body: coral('a') })).status, 201);
  await api.call('DELETE', definitionUrl('corals.reef.example.com'));
  await until(async () => (await api.call('GET', url)).status === 404);
});

test('a registration that a user has taken over outlives its definition', async (t) => {
  const api = await startTestApi();
  t.after(() => api.stop());
  await define(api, coralDefinition({}));
  const url = `${API_SERVICES}/v1.reef.example.com`;
  await until(async () => (await api.call('GET', url)).status === 200);
  await api.call('PATCH', url, { body: { metadata: { labels: null }, spec: { versionPriority: 7 } } });
  await api.call('DELETE', definitionUrl('corals.reef.example.com'));
  await until(async () => (await api.call('GET', definitionUrl('corals.reef.example.com'))).status === 404);
  // A later definition shows that everything before it was processed.
  await define(api, coralDefinition({}));
  assert.equal((await api.call('GET', url)).at('spec.versionPriority'), 7);
});
