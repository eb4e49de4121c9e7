import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { define } from '../testing/custom.ts';
import { filledValue } from '../testing/filled-object.ts';
import { type Answer, requestOf, startTestApi, type TestApi } from '../testing/fixture.ts';
import { type OperatorKind, operatorDefinition, operatorKinds, pluralOf } from '../testing/operator-schemas.ts';

const PACKAGES: readonly (readonly [string, number])[] = [
  ['cert-manager', 16],
  ['gateway-api', 9],
  ['istio', 15],
  ['keda', 4],
  ['knative', 25],
  ['prometheus-operator', 7],
];

let api: TestApi;
before(async () => {
  api = await startTestApi();
});
after(() => api.stop());

const kindsOf = (name: string): readonly OperatorKind[] =>
  operatorKinds(import.meta.resolve(`@kubernetes-models/${name}`));

const urlOf = ({ group, kind }: OperatorKind, version: string): string =>
  `/apis/${group}/${version}/namespaces/default/${pluralOf(kind)}`;

const apply = (url: string, body: unknown): Promise<Answer> =>
  api.call('PATCH', `${url}?fieldManager=operator&force=true&fieldValidation=Strict`, {
    body,
    headers: { 'content-type': 'application/apply-patch+yaml' },
  });

/** The response without metadata. */
function contentOf({ body }: Answer): unknown {
  const { metadata: _metadata, ...content } = body as { metadata: unknown };
  return content;
}

async function roundTrip(kind: OperatorKind, version: string): Promise<void> {
  const schema = kind.versions.get(version) ?? {};
  const { metadata: _metadata, ...fields } = filledValue(schema) as Record<string, unknown>;
  const content = { ...fields, apiVersion: `${kind.group}/${version}`, kind: kind.kind };
  const body = { ...content, metadata: { name: version } };
  const [all, one] = [urlOf(kind, version), `${urlOf(kind, version)}/${version}`];
  const created = await api.call('POST', `${all}?fieldValidation=Strict`, { body });
  assert.equal(created.status, 201, `${one}: ${created.textAt('message')}`);
  const isStored = [...kind.versions.keys()][0] === version;
  const shown = contentOf(await api.call('GET', one));
  // Another version keeps only the fields of both.
  if (isStored) assert.deepEqual(shown, content);
  const applied = await apply(one, body);
  assert.equal(applied.status, 200, `${one}: ${applied.textAt('message')}`);
  assert.deepEqual(contentOf(applied), shown);
  const patched = await api.call('PATCH', one, { body: { metadata: { labels: { a: 'b' } }, notInTheSchema: 1 } });
  assert.equal(patched.headers['warning'], '299 - "unknown field \\"notInTheSchema\\""');
  assert.deepEqual(contentOf(patched), shown);
  assert.deepEqual((await api.call('GET', `${all}?labelSelector=a=b`)).names(), [version]);
  assert.equal((await api.call('DELETE', one)).status, 200);
}

for (const [name, count] of PACKAGES) {
  test(`the kinds of ${name} are served in all versions and keep every field`, async () => {
    const kinds = kindsOf(name);
    assert.equal(kinds.length, count);
    for (const kind of kinds) {
      await define(api, operatorDefinition(kind));
      for (const version of kind.versions.keys()) await roundTrip(kind, version);
    }
  });
}

test('every OpenAPI document holds the kinds, in each of its forms', async () => {
  const listing = await api.call('GET', '/openapi/v3');
  const names = Object.keys(listing.at('paths') as object);
  assert.ok(names.includes('apis/cert-manager.io/v1'));
  const forms = [
    ...names.map((name) => [`/openapi/v3/${name}`, 'v3'] as const),
    ['/openapi/v2', 'v2'] as const,
  ].flatMap(([path, version]) => [
    [path, 'application/json'] as const,
    [path, `application/com.github.proto-openapi.spec.${version}.v1.0+protobuf`] as const,
  ]);
  for (const [path, accept] of forms) {
    const answer = await api.server.handle(requestOf('GET', path, { headers: { accept } }));
    assert.equal(answer.status, 200, `${path} as ${accept}`);
    assert.equal(answer.headers['content-type'], accept);
  }
});

test('an HTTPRoute with few fields gets the defaults of its schema', async () => {
  const route = (spec: unknown): unknown => ({
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'HTTPRoute',
    metadata: { name: 'shop' },
    spec,
  });
  const url = '/apis/gateway.networking.k8s.io/v1/namespaces/default/httproutes';
  const spec = { parentRefs: [{ name: 'edge' }], rules: [{ backendRefs: [{ name: 'shop', port: 80 }] }] };
  const created = await api.call('POST', url, { body: route(spec) });
  assert.deepEqual(created.at('spec'), {
    parentRefs: [{ name: 'edge', group: 'gateway.networking.k8s.io', kind: 'Gateway' }],
    rules: [
      {
        backendRefs: [{ name: 'shop', port: 80, group: '', kind: 'Service', weight: 1 }],
        matches: [{ path: { type: 'PathPrefix', value: '/' } }],
      },
    ],
  });
  const refused = await api.call('POST', url, { body: route({ hostnames: ['*.*.example.com'] }) });
  assert.equal(refused.status, 422);
  assert.match(refused.textAt('message'), /spec.hostnames\[0\]: Invalid value: "\*\.\*\.example\.com"/);
});

test('a ServiceMonitor accepts a port by number and by name', async () => {
  const url = '/apis/monitoring.coreos.com/v1/namespaces/default/servicemonitors';
  for (const targetPort of [8080, 'metrics']) {
    const created = await api.call('POST', url, {
      body: {
        apiVersion: 'monitoring.coreos.com/v1',
        kind: 'ServiceMonitor',
        metadata: { name: `by-${typeof targetPort}` },
        spec: { selector: { matchLabels: { app: 'shop' } }, endpoints: [{ targetPort, interval: '30s' }] },
      },
    });
    assert.equal(created.status, 201, created.textAt('message'));
    assert.equal(created.at('spec.endpoints.0.targetPort'), targetPort);
  }
});
