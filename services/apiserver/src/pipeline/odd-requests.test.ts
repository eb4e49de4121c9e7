import { strict as assert } from 'node:assert';
import { after, before, test } from 'node:test';
import type { HttpMethod } from '@holdfast/client';
import { configMapBody, startTestApi, type TestApi } from '../testing/fixture.ts';

/** Kubernetes 1.32's responses to unusual requests. */
const MAPS = '/api/v1/namespaces/default/configmaps';
const HUGE = '99999999999999999999';

let api: TestApi;
before(async () => {
  api = await startTestApi();
  const { status } = await api.call('POST', MAPS, { body: configMapBody('a', { k: 'v' }) });
  assert.equal(status, 201);
});
after(() => api.stop());

interface Asked {
  readonly method?: HttpMethod;
  readonly url?: string;
  readonly body?: string;
  readonly type?: string;
  readonly accept?: string;
  readonly answer: readonly [status: number, message: string | undefined];
}

async function compare(asked: readonly Asked[]): Promise<void> {
  for (const { method = 'GET', url = MAPS, body, type, accept, answer } of asked) {
    const headers = {
      ...(type === undefined ? {} : { 'content-type': type }),
      ...(accept === undefined ? {} : { accept }),
    };
    const got = await api.call(method, url, { headers, ...(body === undefined ? {} : { body }) });
    assert.deepEqual([got.status, got.at('message')], answer, `${method} ${url} ${body ?? ''} ${accept ?? ''}`);
  }
}

const named = (name: string, metadata: object = {}): string =>
  JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, ...metadata } });

test('query numbers are parsed as in Go, before selectors', () =>
  compare([
    { url: `${MAPS}?limit=`, answer: [400, 'strconv.ParseInt: parsing "": invalid syntax'] },
    { url: `${MAPS}?limit=${HUGE}`, answer: [400, `strconv.ParseInt: parsing "${HUGE}": value out of range`] },
    { url: `${MAPS}?limit=x&labelSelector=a%3D%3D%3D`, answer: [400, 'strconv.ParseInt: parsing "x": invalid syntax'] },
    { url: `${MAPS}?timeoutSeconds=y&limit=x`, answer: [400, 'strconv.ParseInt: parsing "y": invalid syntax'] },
    {
      method: 'DELETE',
      url: `${MAPS}/a?gracePeriodSeconds=`,
      answer: [400, 'strconv.ParseInt: parsing "": invalid syntax'],
    },
  ]));

test('a revision beyond 64 bits is invalid', () => {
  const problem = `strconv.ParseUint: parsing "${HUGE}": value out of range`;
  const ofQuery = `resourceVersion: Invalid value: "${HUGE}": ${problem}`;
  return compare([
    { url: `${MAPS}?resourceVersion=${HUGE}`, answer: [500, ofQuery] },
    { url: `${MAPS}/a?resourceVersion=${HUGE}`, answer: [500, ofQuery] },
    { method: 'PUT', url: `${MAPS}/a`, body: named('a', { resourceVersion: HUGE }), answer: [500, problem] },
    {
      method: 'POST',
      url: `${MAPS}?dryRun=All`,
      body: named('huge', { resourceVersion: HUGE }),
      answer: [201, undefined],
    },
    { method: 'POST', body: named('huge', { resourceVersion: HUGE }), answer: [201, undefined] },
  ]);
});

test('a name that is not a valid path segment is refused', () =>
  compare([
    { url: `${MAPS}/a%b`, answer: [400, `Name parameter invalid: "a%b": may not contain '%'`] },
    { url: `${MAPS}/..`, answer: [400, `Name parameter invalid: "..": may not be '..'`] },
    {
      url: `${MAPS.replace('/v1/', '/v1/watch/')}/a?fieldSelector=metadata.name%3Db`,
      answer: [400, "fieldSelector metadata.name doesn't match requested name"],
    },
  ]));

test('the legacy path of a watch changes nothing', async () => {
  const watched = MAPS.replace('/v1/', '/v1/watch/');
  const refused = [405, 'the server does not allow this method on the requested resource'] as const;
  await compare([
    { method: 'POST', url: watched, body: named('new'), answer: refused },
    { method: 'PUT', url: `${watched}/a`, body: named('a'), answer: refused },
    { method: 'PATCH', url: `${watched}/a`, body: '{}', answer: refused },
    { method: 'DELETE', url: `${watched}/a`, answer: refused },
    { method: 'DELETE', url: watched, answer: refused },
    { method: 'POST', url: '/apis/apiextensions.k8s.io/v1/watch/customresourcedefinitions', answer: refused },
    { url: `${MAPS}/new`, answer: [404, 'configmaps "new" not found'] },
    { url: `${MAPS}/a`, answer: [200, undefined] },
  ]);
});

test('watch=1 at the path of one object is a plain read', async () => {
  const answer = await api.call('GET', `${MAPS}/a?watch=1`);
  assert.deepEqual([answer.status, answer.at('kind'), answer.at('metadata.name')], [200, 'ConfigMap', 'a']);
});

test('names are validated before the object is read, uids and patches when it exists', () => {
  const none = 'configmaps "none" not found';
  const apply = { method: 'PATCH', type: 'application/apply-patch+yaml' } as const;
  return compare([
    {
      method: 'PUT',
      url: `${MAPS}/none`,
      body: named('other'),
      answer: [400, 'the name of the object (other) does not match the name on the URL (none)'],
    },
    { method: 'PUT', url: `${MAPS}/none`, body: named('none'), answer: [404, none] },
    {
      method: 'PUT',
      url: `${MAPS}/none`,
      body: named('none', { uid: 'u' }),
      answer: [
        409,
        'Operation cannot be fulfilled on configmaps "none": StorageError: invalid object, Code: 4, Key: /registry/configmaps/default/none, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: u, UID in object meta: ',
      ],
    },
    { method: 'PATCH', url: `${MAPS}/none`, body: '{', answer: [404, none] },
    { method: 'PATCH', url: `${MAPS}/none`, body: '{', type: 'a/b', answer: [415, '415: Unsupported Media Type'] },
    {
      ...apply,
      url: `${MAPS}/none?fieldManager=m`,
      body: named('none', { uid: 'u' }),
      answer: [
        409,
        'Operation cannot be fulfilled on configmaps "none": uid mismatch: the provided object specified uid u, and no existing object was found',
      ],
    },
    { ...apply, url: `${MAPS}/a?fieldManager=m&force=yes`, body: named('a'), answer: [200, undefined] },
  ]);
});

test('an object keeps the namespace of its path, and cluster-scoped objects drop theirs', async () => {
  const other = 'the namespace of the provided object does not match the namespace sent on the request';
  await compare([
    { method: 'PATCH', url: `${MAPS}/a`, body: '{"metadata":{"namespace":"b"}}', answer: [400, other] },
    { method: 'PATCH', url: `${MAPS}/a`, body: '{"metadata":{"namespace":null}}', answer: [200, undefined] },
  ]);
  const made = await api.call('POST', '/api/v1/namespaces', {
    body: { metadata: { name: 'cluster-wide', namespace: 'b' } },
  });
  assert.deepEqual([made.status, made.at('metadata.namespace')], [201, undefined]);
});

test('deletion options come from the body or the query, and their errors are not wrapped', async () => {
  const remove = (body: string, answer: Asked['answer'], query = ''): Asked => ({
    method: 'DELETE',
    url: `${MAPS}/a${query}`,
    body,
    answer,
  });
  const invalid = 'DeleteOptions.meta.k8s.io "" is invalid: ';
  const policies = 'supported values: "Foreground", "Background", "Orphan", "nil"';
  await compare([
    remove('{', [500, "couldn't get version/kind; json parse error: unexpected end of JSON input"]),
    remove('{"gracePeriodSeconds":"x"}', [
      500,
      'json: cannot unmarshal string into Go struct field DeleteOptions.gracePeriodSeconds of type int64',
    ]),
    remove('{"apiVersion":"v1","kind":"Pod"}', [
      500,
      'no kind "Pod" is registered for version "v1" in scheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27"',
    ]),
    remove('{"propagationPolicy":"","dryRun":["x"]}', [
      422,
      `${invalid}[propagationPolicy: Unsupported value: "": ${policies}, dryRun: Unsupported value: []string{"x"}: supported values: "All"]`,
    ]),
    {
      method: 'DELETE',
      url: `${MAPS}/a?propagationPolicy=`,
      answer: [422, `${invalid}propagationPolicy: Unsupported value: "": ${policies}`],
    },
    remove('{"kind":"DeleteOptions","apiVersion":"apps/v1","dryRun":["All"]}', [200, undefined]),
  ]);
  await api.call('POST', MAPS, { body: configMapBody('goes') });
  await compare([
    { method: 'DELETE', url: `${MAPS}/goes?dryRun=All`, body: '{}', answer: [200, undefined] },
    { url: `${MAPS}/goes`, answer: [404, 'configmaps "goes" not found'] },
  ]);
});

test('a deleted collection is returned as it was, in the requested form', async () => {
  const url = '/api/v1/namespaces/default/pods';
  const pod = {
    metadata: { name: 'held', finalizers: ['example.com/x'] },
    spec: { containers: [{ name: 'c', image: 'i' }] },
  };
  assert.equal((await api.call('POST', url, { body: pod })).status, 201);
  const table = await api.call('DELETE', `${url}?dryRun=All`, {
    headers: { accept: 'application/json;as=Table;g=meta.k8s.io;v=v1' },
  });
  assert.deepEqual([table.status, table.at('kind')], [200, 'Table']);
  const list = await api.call('DELETE', url);
  assert.deepEqual([list.names(), list.at('items.0.metadata.deletionTimestamp')], [['held'], undefined]);
});

test('a client gets its preferred served media type', async () => {
  const types = 'application/json, application/yaml, application/vnd.kubernetes.protobuf';
  const streams = 'application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch';
  const refused = (available: string): Asked['answer'] => [
    406,
    `406: Not Acceptable\n\nAvailable representations: ${available}`,
  ];
  await compare([
    { url: `${MAPS}/a`, accept: 'text/html', answer: refused(types) },
    { accept: 'application/*', answer: refused(`${types}, ${streams}`) },
    { url: '/api', accept: 'text/html', answer: refused(types) },
    { url: '/apis/apps/v1', accept: 'text/html', answer: refused(types) },
    { url: '/apis', accept: 'text/html', answer: [406, `only the following media types are accepted: ${types}`] },
    { url: '/apis/apps', accept: 'text/html', answer: [406, `only the following media types are accepted: ${types}`] },
    { url: '/version', accept: 'application/yaml, text/html', answer: [406, undefined] },
  ]);
  const kindFor = async (accept: string, url = `${MAPS}/a`): Promise<unknown> => {
    const got = await api.call('GET', url, { headers: { accept } });
    return typeof got.body === 'string'
      ? got.headers['content-type']
      : `${String(got.at('apiVersion'))} ${String(got.at('kind'))}`;
  };
  assert.equal(await kindFor('application/yaml;q=0.1,application/json;q=0.9'), 'v1 ConfigMap');
  assert.equal(await kindFor('application/json;q=0.1,application/yaml'), 'application/yaml');
  assert.equal(await kindFor('*/*, application/yaml'), 'application/yaml');
  assert.equal(await kindFor('application/yaml', `${MAPS}/none`), 'application/yaml');
  assert.equal(await kindFor('application/yaml', '/apis'), 'application/yaml');
  const form = (as: string): string => `application/json;as=${as};g=meta.k8s.io;v=v1beta1`;
  assert.equal(await kindFor(form('Table')), 'meta.k8s.io/v1beta1 Table');
  assert.equal(await kindFor(form('PartialObjectMetadata')), 'meta.k8s.io/v1beta1 PartialObjectMetadata');
  assert.equal(await kindFor(form('PartialObjectMetadataList'), MAPS), 'meta.k8s.io/v1beta1 PartialObjectMetadataList');
});

test('impersonation of groups without a user gets no Status, because the request is not authenticated yet', async () => {
  const got = await api.call('GET', `${MAPS}?limit=1`, {
    headers: { 'impersonate-group': 'g', 'impersonate-extra-x': 'v' },
  });
  assert.deepEqual(
    [got.status, got.body],
    [
      500,
      `Internal Server Error: "${MAPS}?limit=1": requested [{Group  g    } {UserExtra  v  authentication.k8s.io/v1  x}] without impersonating a user\n`,
    ],
  );
});

test('a patch that is empty, or leaves nothing, is refused with the message of its first reader', () => {
  const patch = (type: string, body: string, answer: Asked['answer'], query = ''): Asked => ({
    method: 'PATCH',
    url: `${MAPS}/a${query}`,
    type: `application/${type}`,
    body,
    answer,
  });
  const rejected = 'the server rejected our request due to an error in our request';
  const unchecked = '?fieldValidation=Ignore';
  const struct =
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }';
  const applied = (more: string, answer: Asked['answer'], query = ''): Asked =>
    patch('apply-patch+yaml', `{apiVersion: v1, ${more}`, answer, `?fieldManager=odd${query}`);
  return compare([
    patch('json-patch+json', 'null', [200, undefined]),
    patch('json-patch+json', '[null]', [422, rejected]),
    patch(
      'json-patch+json',
      '{}',
      [400, 'json: cannot unmarshal object into Go value of type jsonpatch.Patch'],
      unchecked,
    ),
    patch(
      'json-patch+json',
      '[5]',
      [400, 'json: cannot unmarshal number into Go value of type jsonpatch.Operation'],
      unchecked,
    ),
    patch('json-patch+json', '[{"op":5}]', [422, rejected], unchecked),
    patch('json-patch+json', '[{"op":"replace","path":"","value":[]}]', [
      422,
      ` "" is invalid: patch: Invalid value: "[]": couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type ${struct}`,
    ]),
    patch('merge-patch+json', 'null', [400, 'Invalid JSON Patch']),
    patch('merge-patch+json', '{', [400, 'Invalid JSON Patch'], unchecked),
    patch('strategic-merge-patch+json', 'null', [200, undefined]),
    applied('metadata: {name: a}}', [
      500,
      'failed to create typed patch object (/a; /v1, Kind=): no corresponding type for /v1, Kind=',
    ]),
    applied('kind: Foo, metadata: {name: a}}', [
      500,
      'failed to create typed patch object (/a; /v1, Kind=Foo): no corresponding type for /v1, Kind=Foo',
    ]),
    applied(
      'kind: ConfigMap, metadata: {name: a}, data: {q: "1", q: "2"}, foo: 1}',
      [500, 'failed to create typed patch object (/a; /v1, Kind=ConfigMap): .foo: field not declared in schema'],
      '&fieldValidation=Strict',
    ),
  ]);
});

test('discovery reports the storage version of a kind', async () => {
  const hashesIn = async (path: string): Promise<ReadonlyMap<unknown, unknown>> => {
    const { body } = await api.call('GET', path);
    const { resources } = body as { resources: readonly { name: string; storageVersionHash?: string }[] };
    return new Map(resources.map(({ name, storageVersionHash }) => [name, storageVersionHash]));
  };
  const core = await hashesIn('/api/v1');
  const of = (name: string): unknown => core.get(name);
  assert.deepEqual(
    [of('configmaps'), of('events'), of('pods/status'), of('bindings')],
    ['qFsyl6wFWjQ=', 'r2yiGXH7wu8=', undefined, undefined],
  );
  const events = await hashesIn('/apis/events.k8s.io/v1');
  assert.equal(events.get('events'), of('events'));
});

test('cluster-scoped paths have no namespace, and a group has a name', async () => {
  const none = 'the server could not find the requested resource';
  await compare([
    { url: '/api/v1/namespaces/default/nodes', answer: [404, none] },
    { url: '/api/v1/namespaces/default/nodes/n', answer: [404, none] },
    { url: '/api/v1/namespaces/default/namespaces/other', answer: [404, none] },
    { method: 'POST', url: '/api/v1/namespaces/default/persistentvolumes', body: '{}', answer: [404, none] },
    { url: '/api/v1/namespaces/default', answer: [200, undefined] },
  ]);
  for (const path of ['/apis//v1', '/apis//v1/configmaps']) {
    const { status, body } = await api.call('GET', path);
    assert.deepEqual([status, body], [404, '404 page not found\n'], path);
  }
});

test('YAML watches are refused', async () => {
  await compare([
    {
      url: `${MAPS}?watch=1`,
      accept: 'application/yaml',
      answer: [406, undefined],
    },
    {
      url: `${MAPS}?watch=1`,
      accept: 'application/yaml;q=0.9, text/html',
      answer: [406, undefined],
    },
  ]);
  const frames = await api.watch(`${MAPS}?watch=1`, 1, { headers: { accept: 'application/yaml, application/json' } });
  assert.equal(frames[0]?.type, 'ADDED');
});

test('a dry run of a deletion returns the resulting object', async () => {
  const gone = await api.call('DELETE', `${MAPS}/a?dryRun=All&propagationPolicy=Foreground`);
  assert.deepEqual(
    [gone.at('kind'), gone.at('metadata.finalizers'), typeof gone.at('metadata.deletionTimestamp')],
    ['ConfigMap', ['foregroundDeletion'], 'string'],
  );
  const still = await api.call('GET', `${MAPS}/a`);
  assert.deepEqual([still.status, still.at('metadata.deletionTimestamp')], [200, undefined]);
});

test('unknown fields of reviews are reported too', async () => {
  const url = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
  const body = '{"foo":1,"spec":{"resourceAttributes":{"verb":"get","verb":"list"}}}';
  const why = 'duplicate field "spec.resourceAttributes.verb", unknown field "foo"';
  const strict = await api.call('POST', `${url}?fieldValidation=Strict`, { body });
  assert.deepEqual(
    [strict.status, strict.at('message')],
    [
      400,
      `SelfSubjectAccessReview in version "v1" cannot be handled as a SelfSubjectAccessReview: strict decoding error: ${why}`,
    ],
  );
  const warned = await api.call('POST', url, { body });
  assert.equal(warned.status, 201);
  assert.match(warned.headers['warning'] ?? '', /unknown field \\"foo\\"/);
  await compare([
    {
      method: 'POST',
      body: '{"apiVersion":"core/v1","kind":"ConfigMap"}',
      answer: [
        400,
        'ConfigMap in version "v1" cannot be handled as a ConfigMap: no kind "ConfigMap" is registered for version "core/v1" in scheme "pkg/api/legacyscheme/scheme.go:30"',
      ],
    },
  ]);
});

test('a scale is parsed like any object, and must match its path', async () => {
  const url = '/apis/apps/v1/namespaces/default/deployments';
  const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } };
  const spec = { selector: { matchLabels: { a: 'b' } }, template };
  assert.equal((await api.call('POST', url, { body: { metadata: { name: 'd' }, spec } })).status, 201);
  await compare([
    {
      method: 'PUT',
      url: `${url}/d/scale`,
      body: '{"metadata":{"name":"d","namespace":"other"}}',
      answer: [400, 'the namespace of the provided object does not match the namespace sent on the request'],
    },
    {
      method: 'PUT',
      url: `${url}/d/scale`,
      body: '{"metadata":{"name":"d"},"spec":{"replicas":"x"}}',
      answer: [
        400,
        'Scale in version "v1" cannot be handled as a Scale: json: cannot unmarshal string into Go struct field ScaleSpec.spec.replicas of type int32',
      ],
    },
    { method: 'PATCH', url: `${url}/none/scale`, body: '{', answer: [404, 'deployments.apps "none" not found'] },
    {
      method: 'PUT',
      url: `${url}/d/scale`,
      body: '{"metadata":{"name":"d"},"spec":{"replicas":2}}',
      answer: [200, undefined],
    },
  ]);
});

test('an integer must be written as one; 1.0 is a number where fractions are allowed, and in YAML', async () => {
  const url = '/apis/apps/v1/namespaces/default/deployments';
  const deployment = (spec: string, resources = '{}'): string =>
    `{"metadata":{"name":"whole"},"spec":{"selector":{"matchLabels":{"a":"b"}},${spec},"template":{"metadata":{"labels":{"a":"b"}},
      "spec":{"containers":[{"name":"c","image":"i:1.0","resources":${resources}}]}}}}`;
  const refused = (number: string, field: string, type = 'int32'): Asked['answer'] => [
    400,
    `Deployment in version "v1" cannot be handled as a Deployment: json: cannot unmarshal number ${number} into Go struct field ${field} of type ${type}`,
  ];
  const REPLICAS = 'DeploymentSpec.spec.replicas';
  await compare([
    { method: 'POST', url, body: deployment('"replicas":1.0'), answer: refused('1.0', REPLICAS) },
    { method: 'POST', url, body: deployment('"replicas" : 1e0'), answer: refused('1e0', REPLICAS) },
    { method: 'POST', url, body: deployment('"replicas":-1.50E+1'), answer: refused('-1.50E+1', REPLICAS) },
    {
      method: 'POST',
      url: `${url}?dryRun=All`,
      body: deployment('"replicas":1', '{"limits":{"cpu":1.0}}'),
      answer: [201, undefined],
    },
    {
      method: 'POST',
      url: `${url}?dryRun=All`,
      type: 'application/yaml',
      body: deployment('"replicas":1.0'),
      answer: [201, undefined],
    },
    { method: 'POST', url: `${url}?dryRun=All`, body: deployment('"replicas":0'), answer: [201, undefined] },
  ]);
  const pod =
    '{"metadata":{"name":"whole"},"spec":{"terminationGracePeriodSeconds":3.0,"containers":[{"name":"c","image":"i"}]}}';
  const [, message] = refused('3.0', 'PodSpec.spec.terminationGracePeriodSeconds', 'int64');
  const answer = [400, message?.replaceAll('Deployment in', 'Pod in').replace('a Deployment:', 'a Pod:')] as const;
  const pods = '/api/v1/namespaces/default/pods';
  for (let time = 0; time < 2; time += 1) await compare([{ method: 'POST', url: pods, body: pod, answer }]);
});
