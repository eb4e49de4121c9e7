import { strict as assert } from 'node:assert';
import { after, before, test } from 'node:test';
import { builtInCatalog } from '../endpoints/catalog.ts';
import { requestOf, startTestApi, type TestApi, valueAt } from '../testing/fixture.ts';
import { createOpenApiDocuments } from './documents.ts';

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

test('every listed document is served under its hash and has no dangling reference', async () => {
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

test('the document shows clients that patches validate fields', async () => {
  const document = await api.call('GET', '/openapi/v3/apis/apps/v1');
  const patch = valueAt(document.at('paths'), '/apis/apps/v1/namespaces/{namespace}/deployments/{name}');
  const names = (valueAt(patch, 'patch.parameters') as readonly { name: string }[]).map((each) => each.name);
  assert.deepEqual(names, ['dryRun', 'fieldManager', 'fieldValidation', 'force']);
});

test('lists declare their merge strategy', async () => {
  const document = await api.call('GET', '/openapi/v3/api/v1');
  const schemas = document.at('components.schemas') as Readonly<Record<string, unknown>>;
  const containers = valueAt(schemas['io.k8s.api.core.v1.PodSpec'], 'properties.containers') as Record<string, unknown>;
  assert.deepEqual(
    [containers['x-kubernetes-list-map-keys'], containers['x-kubernetes-patch-merge-key']],
    [['name'], 'name'],
  );
});

test('version 2 is served as JSON and as protobuf, and is not sent again to a client with its ETag', async () => {
  const json = await api.call('GET', '/openapi/v2');
  assert.equal(json.at('swagger'), '2.0');
  const accept = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf';
  const protobuf = await api.call('GET', '/openapi/v2', { headers: { accept } }).catch((error: unknown) => error);
  assert.ok(protobuf instanceof SyntaxError, 'the body is no JSON');
  const again = await api.call('GET', '/openapi/v2', { headers: { 'if-none-match': json.headers['etag'] ?? '' } });
  assert.equal(again.status, 304);
});

test('a document requested by its hash is cacheable, and an old hash redirects to the current one', async () => {
  const path = '/openapi/v3/apis/apps/v1';
  const plain = await api.call('GET', path);
  assert.deepEqual([plain.headers['vary'], plain.headers['cache-control']], ['Accept', undefined]);
  const url = `${path}?hash=${(plain.headers['etag'] ?? '').replaceAll('"', '')}`;
  const kept = await api.call('GET', url);
  assert.deepEqual([kept.status, kept.headers['cache-control']], [200, 'public, immutable']);
  assert.match(kept.headers['expires'] ?? '', /^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/);
  const over = await api.call('GET', `${path}?hash=ABC`);
  assert.deepEqual([over.status, over.headers['location']], [301, url]);
});

test('version 3 is served as protobuf under both media types, with the hash of the JSON form', async () => {
  const path = '/openapi/v3/apis/apps/v1';
  const json = await api.call('GET', path);
  for (const name of ['v3.v1.0', 'v3@v1.0']) {
    const headers = { accept: `application/com.github.proto-openapi.spec.${name}+protobuf` };
    const answer = await api.call('GET', path, { headers }).catch((error: unknown) => error);
    assert.ok(answer instanceof SyntaxError, 'the body is no JSON');
    const known = { ...headers, 'if-none-match': json.headers['etag'] ?? '' };
    assert.equal((await api.call('GET', path, { headers: known })).status, 304);
    const over = await api.call('GET', `${path}?hash=ABC`, { headers });
    assert.deepEqual(
      [over.status, over.headers['content-type']],
      [301, 'application/com.github.proto-openapi.spec.v3.v1.0+protobuf'],
    );
  }
});

test('documents are not sent to clients that have them, nor to clients that accept none of their types', async () => {
  const accept = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';
  for (const path of ['/openapi/v2', '/openapi/v3', '/openapi/v3/api/v1']) {
    const { headers } = await api.call('GET', path);
    const known = `"other", W/${headers['etag'] ?? ''}`;
    assert.equal((await api.call('GET', path, { headers: { 'if-none-match': known } })).status, 304, path);
    assert.equal((await api.call('GET', path, { headers: { 'if-none-match': '"other"' } })).status, 200, path);
  }
  assert.equal((await api.call('GET', '/openapi/v2', { headers: { accept: 'text/html' } })).status, 406);
  assert.equal((await api.call('GET', '/openapi/v3/api/v1', { headers: { accept } })).status, 406);
  const liked = await api.call('GET', '/openapi/v2', { headers: { accept: `${accept};q=0.1, application/*` } });
  assert.equal(liked.headers['content-type'], 'application/json');
});

test('documents contain the paths that older clients look up: of watches, of discovery, and behind a proxy', async () => {
  const version2 = (await api.call('GET', '/openapi/v2')).body as { readonly paths: Readonly<Record<string, unknown>> };
  const answerOf = (path: string): unknown => valueAt(version2.paths[path], 'get.responses.200.schema.$ref');
  const META = '#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.';
  const expected: readonly (readonly [string, string])[] = [
    ['/api/v1/watch/namespaces/{namespace}/configmaps', `${META}WatchEvent`],
    ['/api/v1/watch/namespaces/{namespace}/configmaps/{name}', `${META}WatchEvent`],
    ['/apis/apps/v1/watch/deployments', `${META}WatchEvent`],
    ['/api/v1/watch/nodes/{name}', `${META}WatchEvent`],
    ['/api/', `${META}APIVersions`],
    ['/apis/', `${META}APIGroupList`],
    ['/apis/apps/', `${META}APIGroup`],
    ['/apis/apps/v1/', `${META}APIResourceList`],
    ['/apis/apps/v1/deployments', '#/definitions/io.k8s.api.apps.v1.DeploymentList'],
    ['/apis/apps/v1/namespaces/{namespace}/deployments/{name}', '#/definitions/io.k8s.api.apps.v1.Deployment'],
  ];
  for (const [path, answer] of expected) assert.equal(answerOf(path), answer, path);
  assert.ok('/version/' in version2.paths);
  assert.ok('/api/v1/namespaces/{namespace}/pods/{name}/proxy/{path}' in version2.paths);
  const { body } = await api.call('GET', '/openapi/v3/apis/apps/v1');
  const watched = valueAt(valueAt(body, 'paths'), '/apis/apps/v1/watch/namespaces/{namespace}/deployments/{name}');
  assert.equal(valueAt(watched, 'get.x-kubernetes-action'), 'watch');
});

test('a document is built in parts, once for all concurrent requests, with pauses for others', async () => {
  const documents = createOpenApiDocuments(builtInCatalog());
  let waiting = 0;
  const goOn = async (): Promise<void> => {
    waiting += 1;
  };
  const request = requestOf('GET', '/openapi/v2', {});
  const [first, second] = [1, 2].map(() => documents.answer(request, { now: 0, goOn }));
  const answer = await first;
  assert.equal(answer?.headers['etag'], (await second)?.headers['etag']);
  const once = waiting;
  assert.ok(once > 500, `${once} times`);
  await documents.answer(request, { now: 0, goOn });
  assert.equal(waiting, once);
});
