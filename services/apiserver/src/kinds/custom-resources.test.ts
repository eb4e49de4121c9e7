import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  CORALS,
  conditionsOf,
  coral,
  coralDefinition,
  define,
  definitionUrl,
  established,
  REEF,
  schemaWith,
  until,
} from '../testing/custom.ts';
import { startTestApi, type TestApi } from '../testing/fixture.ts';

let api: TestApi;
before(async () => {
  api = await startTestApi();
});
after(() => api.stop());

const NAME = 'corals.reef.example.com';

/** A definition of its own for a test, which leaves nothing behind. */
async function withCorals(definition: Parameters<typeof coralDefinition>[0], use: () => Promise<void>): Promise<void> {
  await define(api, coralDefinition(definition));
  try {
    await use();
  } finally {
    await api.call('DELETE', definitionUrl(NAME));
    await until(async () => (await api.call('GET', definitionUrl(NAME))).status === 404);
  }
}

const DEFAULTED = { depth: { type: 'integer' }, colour: { type: 'string', default: 'red' } };

test('a definition is established and served, and its objects go with it', async () => {
  assert.equal((await api.call('GET', CORALS)).status, 404);
  await define(api, coralDefinition({ spec: DEFAULTED }));
  assert.deepEqual(await conditionsOf(api, NAME), { NamesAccepted: 'True', Established: 'True' });
  const created = await api.call('POST', CORALS, { body: coral('a', { depth: 1 }) });
  assert.equal(created.status, 201);
  assert.deepEqual(created.at('spec'), { depth: 1, colour: 'red' });
  assert.equal(created.at('metadata.generation'), 1);
  assert.deepEqual((await api.call('GET', CORALS)).names(), ['a']);
  const deleted = await api.call('DELETE', definitionUrl(NAME));
  assert.deepEqual(deleted.at('metadata.finalizers'), ['customresourcecleanup.apiextensions.k8s.io']);
  await until(async () => (await api.call('GET', definitionUrl(NAME))).status === 404);
  const gone = await api.call('GET', CORALS);
  assert.deepEqual([gone.status, gone.body], [404, '404 page not found\n']);
  await define(api, coralDefinition({ spec: DEFAULTED }));
  assert.deepEqual((await api.call('GET', CORALS)).names(), []);
  await api.call('DELETE', definitionUrl(NAME));
  await until(async () => (await api.call('GET', definitionUrl(NAME))).status === 404);
});

test('a definition whose status names unknown stored versions is still deleted', async () => {
  await withCorals({}, async () => {
    const body = { status: { storedVersions: ['v9'] } };
    assert.equal((await api.call('PATCH', `${definitionUrl(NAME)}/status`, { body })).status, 200);
    const change = { spec: { names: { shortNames: ['c'] } } };
    const refused = await api.call('PATCH', definitionUrl(NAME), { body: change });
    assert.match(refused.textAt('message'), /status\.storedVersions\[0\]: Invalid value: "v9": must appear in/);
  });
});

test('an instance with a finalizer blocks the deletion of its definition, and no new instance is created meanwhile', async () => {
  await define(api, coralDefinition({ spec: DEFAULTED }));
  await api.call('POST', CORALS, {
    body: coral('held', {}, { metadata: { name: 'held', finalizers: ['example.com/hold'] } }),
  });
  await api.call('DELETE', definitionUrl(NAME));
  await until(async () => (await api.call('GET', `${CORALS}/held`)).at('metadata.deletionTimestamp') !== undefined);
  const refused = await api.call('POST', CORALS, { body: coral('late') });
  assert.equal(refused.status, 405);
  assert.equal(refused.textAt('message'), 'create not allowed while custom resource definition is terminating');
  assert.equal((await conditionsOf(api, NAME))['Terminating'], 'True');
  await api.call('PATCH', `${CORALS}/held`, { body: { metadata: { finalizers: null } } });
  await until(async () => (await api.call('GET', definitionUrl(NAME))).status === 404);
});

test('a name in use by another definition of the group is not accepted until it is free', async () => {
  await define(api, coralDefinition({}));
  const rival = coralDefinition({ names: { plural: 'rocks' } }) as { metadata: { name: string } };
  rival.metadata.name = 'rocks.reef.example.com';
  await api.call('POST', definitionUrl('').slice(0, -1), { body: rival });
  await until(async () => (await conditionsOf(api, rival.metadata.name))['NamesAccepted'] === 'False');
  const conflict = await api.call('GET', definitionUrl(rival.metadata.name));
  assert.equal(conflict.at('status.conditions.0.reason'), 'ListKindConflict');
  assert.equal(conflict.at('status.conditions.0.message'), '"CoralList" is already in use');
  assert.deepEqual(conflict.at('status.acceptedNames'), { plural: 'rocks', kind: '' });
  await api.call('DELETE', definitionUrl(NAME));
  await established(api, rival.metadata.name);
  assert.equal((await api.call('GET', `${REEF}/namespaces/default/rocks`)).status, 200);
  await api.call('DELETE', definitionUrl(rival.metadata.name));
  await until(async () => (await api.call('GET', definitionUrl(rival.metadata.name))).status === 404);
});

test('fields outside the schema are pruned, reported or refused', async () => {
  await withCorals(
    { spec: { ...DEFAULTED, any: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } } },
    async () => {
      const body = coral('p', { depth: 1, extra: 1, any: { z: [null] } });
      const warned = await api.call('POST', CORALS, { body });
      assert.equal(warned.headers['warning'], '299 - "unknown field \\"spec.extra\\""');
      assert.deepEqual(warned.at('spec'), { depth: 1, any: { z: [null] }, colour: 'red' });
      const strict = await api.call('POST', `${CORALS}?fieldValidation=Strict`, { body });
      assert.equal(strict.status, 400);
      assert.match(strict.textAt('message'), /strict decoding error: unknown field "spec.extra"$/);
      const patched = await api.call('PATCH', `${CORALS}/p`, { body: { spec: { extra: 2, depth: 3 } } });
      assert.deepEqual(patched.at('spec'), { depth: 3, any: { z: [null] }, colour: 'red' });
      const metadata = await api.call('POST', CORALS, {
        body: coral('m', {}, { metadata: { name: 'm', labels: { a: 1 } } }),
      });
      assert.equal(metadata.status, 400);
      assert.match(metadata.textAt('message'), /json: cannot unmarshal number into Go struct field ObjectMeta.labels/);
    },
  );
});

test('defaults are filled in objects that were stored before the schema had them', async () => {
  await withCorals({ spec: { depth: { type: 'integer' } } }, async () => {
    await api.call('POST', CORALS, { body: coral('old', { depth: 1 }) });
    const schema = schemaWith({ depth: { type: 'integer' }, colour: { type: 'string', default: 'blue' } });
    const changed = await api.call('PATCH', definitionUrl(NAME), {
      body: [{ op: 'replace', path: '/spec/versions/0/schema', value: schema }],
      headers: { 'content-type': 'application/json-patch+json' },
    });
    assert.equal(changed.status, 200);
    assert.deepEqual((await api.call('GET', `${CORALS}/old`)).at('spec'), { depth: 1, colour: 'blue' });
    assert.deepEqual((await api.call('GET', CORALS)).at('items.0.spec'), { depth: 1, colour: 'blue' });
  });
});

test('a watch ends when the spec of the definition changes, not when only its status does', async () => {
  await withCorals({ spec: DEFAULTED }, async () => {
    const watching = api.watch(`${CORALS}?watch=1`, 2);
    await api.call('PATCH', definitionUrl(NAME), { body: { metadata: { labels: { a: 'b' } } } });
    await api.call('POST', CORALS, { body: coral('seen') });
    await api.call('PATCH', definitionUrl(NAME), { body: { spec: { names: { shortNames: ['co'] } } } });
    assert.deepEqual(
      (await watching).map(({ type }) => type),
      ['ADDED'],
    );
  });
});

test('the generation counts spec changes, and the status has its own endpoint', async () => {
  await withCorals({ spec: DEFAULTED, version: { subresources: { status: {} } } }, async () => {
    const created = await api.call('POST', CORALS, { body: coral('s', { depth: 1 }, { status: { phase: 'Up' } }) });
    assert.equal(created.at('status'), undefined);
    const status = await api.call('PATCH', `${CORALS}/s/status`, {
      body: { status: { phase: 'Up' }, spec: { depth: 9 }, metadata: { labels: { a: 'b' } } },
    });
    assert.deepEqual([status.at('spec.depth'), status.at('status.phase')], [1, 'Up']);
    assert.equal(status.at('metadata.labels'), undefined);
    assert.equal(status.at('metadata.generation'), 1);
    const changed = await api.call('PATCH', `${CORALS}/s`, { body: { spec: { depth: 2 }, status: { phase: 'Down' } } });
    assert.deepEqual([changed.at('metadata.generation'), changed.at('status.phase')], [2, 'Up']);
  });
});

test('versions differ by name alone, and a write moves an object to the storage version', async () => {
  const two = [
    { name: 'v1', served: true, storage: true, schema: schemaWith({ a: { type: 'string' } }) },
    {
      name: 'v1beta1',
      served: true,
      storage: false,
      deprecated: true,
      schema: schemaWith({ a: { type: 'string' }, b: { type: 'string', default: 'd' } }),
    },
  ];
  await withCorals({ definition: { versions: two } }, async () => {
    const beta = CORALS.replace('/v1/', '/v1beta1/');
    const created = await api.call('POST', beta, {
      body: { ...(coral('v', { a: '1' }) as object), apiVersion: 'reef.example.com/v1beta1' },
    });
    assert.equal(created.at('apiVersion'), 'reef.example.com/v1beta1');
    // Stored in v1, which has no b.
    assert.deepEqual(created.at('spec'), { a: '1' });
    assert.match(created.headers['warning'] ?? '', /reef.example.com\/v1beta1 Coral is deprecated/);
    assert.equal((await api.call('GET', `${CORALS}/v`)).at('apiVersion'), 'reef.example.com/v1');
    await api.call('PATCH', definitionUrl(NAME), {
      body: [
        { op: 'replace', path: '/spec/versions/0/storage', value: false },
        { op: 'replace', path: '/spec/versions/1/storage', value: true },
      ],
      headers: { 'content-type': 'application/json-patch+json' },
    });
    assert.deepEqual((await api.call('GET', definitionUrl(NAME))).at('status.storedVersions'), ['v1', 'v1beta1']);
    const before = await api.call('GET', `${CORALS}/v`);
    const rewritten = await api.call('PUT', `${CORALS}/v`, { body: before.body });
    assert.notEqual(rewritten.at('metadata.resourceVersion'), before.at('metadata.resourceVersion'));
    const stored = await api.store.get('reef.example.com/corals/default/v');
    assert.match(stored.object?.value ?? '', /"apiVersion":"reef.example.com\/v1beta1"/);
    const again = await api.call('PUT', `${CORALS}/v`, { body: rewritten.body });
    assert.equal(again.at('metadata.resourceVersion'), rewritten.at('metadata.resourceVersion'));
  });
});

test('field selectors use the fields of the requested version', async () => {
  const version = { selectableFields: [{ jsonPath: '.spec.colour' }] };
  await withCorals({ spec: DEFAULTED, version }, async () => {
    await api.call('POST', CORALS, { body: coral('r') });
    await api.call('POST', CORALS, { body: coral('b', { colour: 'blue' }) });
    assert.deepEqual((await api.call('GET', `${CORALS}?fieldSelector=spec.colour=red`)).names(), ['r']);
    const unknown = await api.call('GET', `${CORALS}?fieldSelector=spec.depth=1`);
    assert.deepEqual([unknown.status, unknown.at('message')], [400, 'field label not supported: spec.depth']);
    const watching = api.watch(`${CORALS}?watch=1&fieldSelector=spec.colour=blue&resourceVersion=0`, 2);
    await api.call('PATCH', `${CORALS}/r`, { body: { spec: { depth: 1 } } });
    await api.call('PATCH', `${CORALS}/b`, { body: { spec: { colour: 'white' } } });
    assert.deepEqual(
      (await watching).map(({ type }) => type),
      ['ADDED', 'DELETED'],
    );
  });
});

test('the scale of a custom resource uses the paths of its definition', async () => {
  const scale = {
    specReplicasPath: '.spec.replicas',
    statusReplicasPath: '.status.replicas',
    labelSelectorPath: '.status.selector',
  };
  const spec = { replicas: { type: 'integer' } };
  await withCorals({ spec, version: { subresources: { status: {}, scale } } }, async () => {
    await api.call('POST', CORALS, { body: coral('a') });
    const missing = await api.call('GET', `${CORALS}/a/scale`);
    assert.equal(missing.status, 500);
    assert.match(missing.textAt('message'), /the spec replicas field ".spec.replicas" does not exist/);
    const body = { apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: { name: 'a' }, spec: { replicas: 3 } };
    assert.equal((await api.call('PUT', `${CORALS}/a/scale`, { body })).at('spec.replicas'), 3);
    assert.equal((await api.call('GET', `${CORALS}/a`)).at('spec.replicas'), 3);
    const negative = await api.call('PUT', `${CORALS}/a/scale`, { body: { ...body, spec: { replicas: -1 } } });
    assert.match(
      negative.textAt('message'),
      /^Coral.reef.example.com "a" is invalid: .spec.replicas: Invalid value: -1/,
    );
  });
});

test('apply owns list items by the schema; a strategic merge of a custom resource is refused', async () => {
  const tags = { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set' };
  await withCorals({ spec: { tags } }, async () => {
    const apply = (manager: string, spec: unknown): ReturnType<TestApi['call']> =>
      api.call('PATCH', `${CORALS}/t?fieldManager=${manager}`, {
        body: coral('t', spec),
        headers: { 'content-type': 'application/apply-patch+yaml' },
      });
    await apply('me', { tags: ['a'] });
    assert.deepEqual((await apply('you', { tags: ['b'] })).at('spec.tags'), ['a', 'b']);
    assert.deepEqual((await apply('me', {})).at('spec.tags'), ['b']);
    const unknown = await apply('me', { other: 1 });
    assert.match(unknown.textAt('message'), /.spec.other: field not declared in schema/);
    const strategic = await api.call('PATCH', `${CORALS}/t`, {
      body: {},
      headers: { 'content-type': 'application/strategic-merge-patch+json' },
    });
    assert.equal(strategic.status, 415);
  });
});

test('protobuf is available for metadata only', async () => {
  await withCorals({}, async () => {
    const accept = 'application/vnd.kubernetes.protobuf';
    const refused = await api.server.handle({
      method: 'GET',
      path: CORALS,
      query: new URLSearchParams(),
      headers: { authorization: 'Bearer admin', accept },
    });
    assert.equal(refused.status, 406);
    const partial = await api.server.handle({
      method: 'GET',
      path: CORALS,
      query: new URLSearchParams(),
      headers: { authorization: 'Bearer admin', accept: `${accept};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1` },
    });
    assert.equal(partial.status, 200);
  });
});

test('a kind is in discovery and in both versions of OpenAPI while it is served', async () => {
  const groups = async (): Promise<string> => JSON.stringify((await api.call('GET', '/apis')).body);
  const aggregated = async (): Promise<string> => {
    const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
    return JSON.stringify((await api.call('GET', '/apis', { headers: { accept } })).body);
  };
  assert.equal((await groups()).includes('reef.example.com'), false);
  await withCorals({ spec: DEFAULTED, names: { shortNames: ['co'], categories: ['sea'] } }, async () => {
    assert.match(await groups(), /reef\.example\.com\/v1/);
    assert.match(await aggregated(), /"shortNames":\["co"\],"categories":\["sea"\]/);
    const resources = await api.call('GET', REEF);
    assert.equal(resources.at('resources.0.singularName'), 'coral');
    const root = await api.call('GET', '/openapi/v3');
    const at = (root.body as { paths: Record<string, { serverRelativeURL: string }> }).paths[
      'apis/reef.example.com/v1'
    ];
    const document = await api.call('GET', '/openapi/v3/apis/reef.example.com/v1');
    const schemas = (document.body as { components: { schemas: Record<string, Record<string, unknown>> } }).components;
    assert.deepEqual(schemas.schemas['com.example.reef.v1.Coral']?.['x-kubernetes-group-version-kind'], [
      { group: 'reef.example.com', version: 'v1', kind: 'Coral' },
    ]);
    const second = await api.call('GET', '/openapi/v2');
    assert.ok('com.example.reef.v1.CoralList' in (second.body as { definitions: object }).definitions);
    await api.call('PATCH', definitionUrl(NAME), {
      body: [{ op: 'replace', path: '/spec/versions/0/schema', value: schemaWith({ wide: { type: 'integer' } }) }],
      headers: { 'content-type': 'application/json-patch+json' },
    });
    const changed = await api.call('GET', '/openapi/v3');
    const now = (changed.body as { paths: Record<string, { serverRelativeURL: string }> }).paths[
      'apis/reef.example.com/v1'
    ];
    assert.notEqual(now?.serverRelativeURL, at?.serverRelativeURL);
    const text = JSON.stringify((await api.call('GET', '/openapi/v3/apis/reef.example.com/v1')).body);
    assert.match(text, /"wide"/);
  });
  assert.equal((await aggregated()).includes('reef.example.com'), false);
});

test('a write through a server that has not observed a definition change waits for it', async () => {
  await withCorals({ spec: { depth: { type: 'integer' } } }, async () => {
    const other = await startTestApi({ store: api.store });
    const schema = schemaWith({ depth: { type: 'integer' }, width: { type: 'integer' } });
    await api.call('PATCH', definitionUrl(NAME), {
      body: [{ op: 'replace', path: '/spec/versions/0/schema', value: schema }],
      headers: { 'content-type': 'application/json-patch+json' },
    });
    const created = await other.call('POST', CORALS, { body: coral('wide', { width: 2 }) });
    assert.deepEqual(created.at('spec'), { width: 2 });
    await other.server.stop();
  });
});

test('a definition with the name of a built-in kind serves nothing and deletes no objects', async () => {
  const name = 'leases.coordination.k8s.io';
  const lease = '/apis/coordination.k8s.io/v1/namespaces/default/leases';
  const made = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'kept' }, spec: {} };
  assert.equal((await api.call('POST', lease, { body: made })).status, 201);
  const definition = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name, annotations: { 'api-approved.kubernetes.io': 'unapproved' } },
    spec: {
      group: 'coordination.k8s.io',
      scope: 'Namespaced',
      names: { plural: 'leases', singular: 'lease', kind: 'Lease', listKind: 'LeaseList' },
      versions: [{ name: 'v7', served: true, storage: true, schema: schemaWith({}) }],
    },
  };
  assert.equal((await api.call('POST', definitionUrl('').slice(0, -1), { body: definition })).status, 201);
  await until(async () => (await conditionsOf(api, name))['NamesAccepted'] === 'False');
  assert.equal((await conditionsOf(api, name))['Established'], 'False');
  // A client that may write the status says otherwise.
  const told = {
    type: 'Established',
    status: 'True',
    reason: 'Told',
    message: '',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  };
  const patched = await api.call('PATCH', definitionUrl(name, '/status'), {
    body: { status: { conditions: [told] } },
    headers: { 'content-type': 'application/merge-patch+json' },
  });
  assert.equal(patched.status, 200);
  assert.equal((await api.call('GET', '/apis/coordination.k8s.io/v7/namespaces/default/leases')).status, 404);
  assert.equal((await api.call('DELETE', definitionUrl(name))).status, 200);
  await until(async () => (await api.call('GET', definitionUrl(name))).status === 404);
  assert.equal((await api.call('GET', `${lease}/kept`)).status, 200);
  await api.call('DELETE', `${lease}/kept`);
});
