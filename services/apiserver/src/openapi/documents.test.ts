import { strict as assert } from 'node:assert';
import { after, before, test } from 'node:test';
import { startTestApi, type TestApi, valueAt } from '../testing/fixture.ts';

let api: TestApi;
before(async () => {
  api = await startTestApi();
});
after(() => api.stop());

function* references(value: unknown): Iterable<string> {
  if (typeof value !== 'object' || value === null) return;
  for (const [key, child] of Object.entries(value)) {
    if (key === '$ref' && typeof child === 'string') yield child;
    else yield* references(child);
  }
}

test('every listed document is served under its hash and refers to nothing that it does not hold', async () => {
  const listing = await api.call('GET', '/openapi/v3');
  const paths = Object.entries(listing.at('paths') ?? {});
  assert.ok(paths.length >= 3);
  for (const [name, entry] of paths) {
    const url = String(valueAt(entry, 'serverRelativeURL'));
    assert.match(url, /\?hash=[0-9A-F]{128}$/);
    const document = await api.call('GET', url);
    const schemas = Object.keys(document.at('components.schemas') ?? {});
    for (const reference of new Set(references(document.body))) {
      assert.ok(schemas.includes(reference.replace('#/components/schemas/', '')), `${name}: ${reference}`);
    }
  }
});

test('clients find out from the document that patches validate fields', async () => {
  const document = await api.call('GET', '/openapi/v3/apis/apps/v1');
  const patch = valueAt(document.at('paths'), '/apis/apps/v1/namespaces/{namespace}/deployments/{name}');
  const names = (valueAt(patch, 'patch.parameters') as readonly { name: string }[]).map((each) => each.name);
  assert.deepEqual(names, ['dryRun', 'fieldManager', 'fieldValidation', 'force']);
});

test('lists say how they merge', async () => {
  const document = await api.call('GET', '/openapi/v3/api/v1');
  const schemas = document.at('components.schemas') as Readonly<Record<string, unknown>>;
  const containers = valueAt(schemas['io.k8s.api.core.v1.PodSpec'], 'properties.containers') as Record<string, unknown>;
  assert.deepEqual(
    [containers['x-kubernetes-list-map-keys'], containers['x-kubernetes-patch-merge-key']],
    [['name'], 'name'],
  );
});

test('version 2 is served as JSON and as protobuf, and not again to who has it', async () => {
  const json = await api.call('GET', '/openapi/v2');
  assert.equal(json.at('swagger'), '2.0');
  const accept = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf';
  const protobuf = await api.call('GET', '/openapi/v2', { headers: { accept } }).catch((error: unknown) => error);
  assert.ok(protobuf instanceof SyntaxError, 'the body is no JSON');
  const again = await api.call('GET', '/openapi/v2', { headers: { 'if-none-match': json.headers['etag'] ?? '' } });
  assert.equal(again.status, 304);
});
