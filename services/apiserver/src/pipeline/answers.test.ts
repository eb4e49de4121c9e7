import { strict as assert } from 'node:assert';
import { after, before, test } from 'node:test';
import type { HttpMethod } from '@holdfast/client';
import { startTestApi, type TestApi } from '../testing/fixture.ts';

/** Kubernetes 1.32's exact responses to common mistakes. */
const MAPS = '/api/v1/namespaces/default/configmaps';
const SCHEME = 'in scheme "pkg/api/legacyscheme/scheme.go:30"';

let api: TestApi;
before(async () => {
  api = await startTestApi();
  const { status } = await api.call('POST', MAPS, {
    body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, data: { k: 'v' } },
  });
  assert.equal(status, 201);
});
after(() => api.stop());

interface Asked {
  readonly method?: HttpMethod;
  readonly url?: string;
  readonly body?: string;
  readonly type?: string;
  readonly answer: readonly [status: number, message: string | undefined];
}

async function compare(asked: readonly Asked[]): Promise<void> {
  for (const { method = 'POST', url = MAPS, body, type, answer } of asked) {
    const headers = type === undefined ? {} : { 'content-type': type };
    const got = await api.call(method, url, { headers, ...(body === undefined ? {} : { body }) });
    assert.deepEqual([got.status, got.at('message')], answer, `${method} ${url} ${body ?? ''}`);
  }
}

const named = (rest: string): string => `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"n"${rest}}}`;

test('an unrecognized body is refused with its first bytes', () => {
  const unrecognized = 'the object provided is unrecognized (must be of type ConfigMap): ';
  return compare([
    {
      body: '',
      answer: [
        400,
        `${unrecognized}couldn't get version/kind; json parse error: unexpected end of JSON input (<empty>)`,
      ],
    },
    {
      body: '[]',
      answer: [
        400,
        `${unrecognized}couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" } (5b5d)`,
      ],
    },
    {
      body: `${named('')} x`,
      answer: [
        400,
        `${unrecognized}couldn't get version/kind; json parse error: invalid character 'x' after top-level value ({"apiVersion":"v1","kind":"Con ...)`,
      ],
    },
    {
      body: '{"apiVersion":"a/b/c"}',
      answer: [400, `${unrecognized}unexpected GroupVersion string: a/b/c ({"apiVersion":"a/b/c"})`],
    },
    {
      body: 'null',
      answer: [422, 'ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required'],
    },
    {
      body: 'a: b: c',
      type: 'application/yaml',
      answer: [400, `${unrecognized}yaml: mapping values are not allowed in this context (613a20623a2063)`],
    },
    {
      body: '{}',
      type: 'text/plain',
      answer: [
        415,
        'the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf',
      ],
    },
  ]);
});

test('an unknown kind or version is distinguished from one that is not served here', () =>
  compare([
    {
      body: '{"apiVersion":"v2","kind":"ConfigMap"}',
      answer: [
        400,
        `ConfigMap in version "v2" cannot be handled as a ConfigMap: no kind "ConfigMap" is registered for version "v2" ${SCHEME}`,
      ],
    },
    {
      body: '{"apiVersion":"v1","kind":"Foo"}',
      answer: [
        400,
        `Foo in version "v1" cannot be handled as a ConfigMap: no kind "Foo" is registered for version "v1" ${SCHEME}`,
      ],
    },
    {
      body: '{"apiVersion":"apps/v1","kind":"Deployment"}',
      answer: [
        400,
        'Deployment in version "v1" cannot be handled as a ConfigMap: converting (v1.Deployment) to (core.ConfigMap): unknown conversion',
      ],
    },
    {
      url: '/apis/apps/v1/namespaces/default/deployments',
      body: '{"apiVersion":"apps/v1beta2","kind":"Deployment"}',
      answer: [400, 'the API version in the data (apps/v1beta2) does not match the expected API version (apps/v1)'],
    },
    {
      url: '/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers',
      body: '{"apiVersion":"autoscaling/v1","kind":"HorizontalPodAutoscaler"}',
      answer: [
        400,
        'the API version in the data (autoscaling/v1) does not match the expected API version (autoscaling/v2)',
      ],
    },
  ]));

test('impossible revisions and uids are refused', async () => {
  const { body } = await api.call('GET', `${MAPS}/a`);
  const uid = String((body as { metadata: { uid: string } }).metadata.uid);
  const put = (metadata: object): string =>
    JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', ...metadata } });
  await compare([
    {
      body: named(',"resourceVersion":"5"'),
      answer: [500, 'resourceVersion should not be set on objects to be created'],
    },
    { url: `${MAPS}?dryRun=All`, body: named(',"resourceVersion":"5"'), answer: [201, undefined] },
    {
      method: 'PUT',
      url: `${MAPS}/a`,
      body: put({ resourceVersion: 'abc' }),
      answer: [500, 'strconv.ParseUint: parsing "abc": invalid syntax'],
    },
    {
      method: 'PUT',
      url: `${MAPS}/a`,
      body: put({ uid: 'x' }),
      answer: [
        409,
        `Operation cannot be fulfilled on configmaps "a": StorageError: invalid object, Code: 4, Key: /registry/configmaps/default/a, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: x, UID in object meta: ${uid}`,
      ],
    },
    {
      method: 'PUT',
      url: `${MAPS}/a`,
      body: put({ name: '' }),
      answer: [400, 'the name of the object (a based on URL) was undeterminable: name must be provided'],
    },
  ]);
});

test('all errors in the revision parameters of a list are reported together', () => {
  const options = 'ListOptions.meta.k8s.io "" is invalid: ';
  const get = (query: string, answer: Asked['answer']): Asked => ({ method: 'GET', url: `${MAPS}?${query}`, answer });
  return compare([
    get('resourceVersion=5&resourceVersionMatch=Foo', [
      422,
      `${options}resourceVersionMatch: Unsupported value: "Foo": supported values: "Exact", "NotOlderThan", ""`,
    ]),
    get('resourceVersion=0&resourceVersionMatch=Exact', [
      422,
      `${options}resourceVersionMatch: Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"`,
    ]),
    get('watch=1&sendInitialEvents=true&resourceVersionMatch=Exact', [
      422,
      `${options}[resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan, resourceVersionMatch: Unsupported value: "Exact": supported values: "NotOlderThan"]`,
    ]),
    // Text that is not a number is checked after the options.
    get('resourceVersion=abc&resourceVersionMatch=Foo', [
      422,
      `${options}resourceVersionMatch: Unsupported value: "Foo": supported values: "Exact", "NotOlderThan", ""`,
    ]),
    get('continue=eyJ2IjoibWV0YS5rOHMuaW8vdjIifQ', [
      400,
      'invalid continue token: continue key is not valid: server does not recognize this encoded version meta.k8s.io/v2',
    ]),
    ...[
      ['!!!', 0],
      ['abc%3D', 3],
      ['abcde', 4],
    ].map(([token, at]) =>
      get(`continue=${token}`, [
        400,
        `invalid continue token: continue key is not valid: illegal base64 data at input byte ${at}`,
      ]),
    ),
  ]);
});

test('a continue token contains its revision, so the request may not set another', async () => {
  await api.call('POST', MAPS, { body: named('').replace('"n"', '"b"') });
  const first = await api.call('GET', `${MAPS}?limit=1`);
  const token = first.textAt('metadata.continue');
  const second = await api.call('GET', `${MAPS}?limit=1&continue=${token}&resourceVersion=1`);
  assert.deepEqual(
    [second.status, second.at('message')],
    [400, 'specifying resource version is not allowed when using continue'],
  );
});

test('a limited list at revision 0 is whole, as any state is at hand', async () => {
  await api.call('POST', MAPS, { body: named('').replace('"n"', '"c"') });
  const whole = await api.call('GET', `${MAPS}?limit=1&resourceVersion=0`);
  assert.ok(whole.names().length > 1, whole.names().join());
  assert.equal(whole.at('metadata.continue'), undefined);
});

test('a table refuses an unknown includeObject', async () => {
  const headers = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };
  const table = await api.call('GET', `${MAPS}?includeObject=Foo`, { headers });
  assert.deepEqual(
    [table.status, table.at('message')],
    [
      400,
      `Unable to convert to Table as requested: includeObject: Invalid value: "Foo": must be 'Metadata', 'Object', 'None', or empty`,
    ],
  );
});

test('a list is not an object: representations that do not fit are refused by name', async () => {
  const get = async (url: string, as: string) => {
    const answer = await api.call('GET', url, { headers: { accept: `application/json;as=${as};g=meta.k8s.io;v=v1` } });
    return [answer.status, answer.at('kind'), answer.at('message')];
  };
  assert.deepEqual(await get(MAPS, 'PartialObjectMetadataList'), [200, 'PartialObjectMetadataList', undefined]);
  assert.deepEqual(await get(MAPS, 'PartialObjectMetadata'), [
    406,
    'Status',
    'you requested PartialObjectMetadata, but the requested object is a list (*core.ConfigMapList)',
  ]);
  assert.deepEqual(await get(`${MAPS}/a`, 'PartialObjectMetadataList'), [
    406,
    'Status',
    'you requested PartialObjectMetadataList, but the requested object is not a list (*core.ConfigMap)',
  ]);
  assert.deepEqual(await get(`${MAPS}/a`, 'Foo'), [
    406,
    'Status',
    'only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf',
  ]);
});

test('an unsupported field selector of jobs is refused with the Go type name', () =>
  compare([
    {
      method: 'GET',
      url: '/apis/batch/v1/jobs?fieldSelector=foo%3Da',
      answer: [400, 'field label "foo" not supported for batchv1.Job'],
    },
  ]));

test('an eviction is also accepted in policy/v1beta1', async () => {
  const eviction = (apiVersion: string): string =>
    JSON.stringify({ apiVersion, kind: 'Eviction', metadata: { name: 'x' } });
  const url = '/api/v1/namespaces/default/pods/x/eviction';
  await compare([
    { url, body: eviction('policy/v1beta1'), answer: [404, 'pods "x" not found'] },
    { url, body: eviction('policy/v1'), answer: [404, 'pods "x" not found'] },
  ]);
});

test('an unknown path outside groups has no Status, one below a group has', async () => {
  for (const path of ['/foo', '/apis/foo', '/apis/foo.io/v1', '/apis/foo.io/v1/things']) {
    const { status, body } = await api.call('GET', path);
    assert.deepEqual([status, body], [404, '404 page not found\n'], path);
  }
  const message = 'the server could not find the requested resource';
  for (const url of ['/api/v2', '/api/v2/pods', '/apis/apps/v2', '/apis/apps/v2/deployments', '/apis/apps/v1/foo'])
    await compare([{ method: 'GET', url, answer: [404, message] }]);
});

test('a method that a path does not support is 405', () => {
  const answer = [405, 'the server does not allow this method on the requested resource'] as const;
  return compare([
    { url: '/version', body: '{}', answer },
    { url: '/api/v1', body: '{}', answer },
    { url: '/apis/apps/v1', body: '{}', answer },
    { method: 'OPTIONS', url: `${MAPS}/a`, answer },
    { method: 'HEAD', url: `${MAPS}/a`, answer },
  ]);
});

test('patches that are invalid, or give an invalid result, are refused with the message of their type', async () => {
  const patch = (type: string, body: string, answer: Asked['answer'], query = ''): Asked => ({
    method: 'PATCH',
    url: `${MAPS}/a${query}`,
    type: `application/${type}-patch+json`,
    body,
    answer,
  });
  const noMap = 'json: cannot unmarshal array into Go value of type map[string]interface {}';
  await compare([
    patch('merge', '[]', [400, `error decoding patch: ${noMap}`]),
    patch('strategic-merge', '[]', [400, noMap]),
    patch('strategic-merge', '{"data":{"a":5}}', [
      422,
      ' "" is invalid: patch: Invalid value: "map[data:map[a:5]]": cannot convert int64 to string',
    ]),
    patch(
      'strategic-merge',
      '{"foo":[1,null]}',
      [422, ' "" is invalid: patch: Invalid value: "map[foo:[1 <nil>]]": strict decoding error: unknown field "foo"'],
      '?fieldValidation=Strict',
    ),
    patch('strategic-merge', '{"kind":"Secret"}', [200, undefined]),
    patch('json', '[{"op":"add","value":"1"}]', [
      422,
      'the server rejected our request due to an error in our request',
    ]),
  ]);
  const strict = await api.call('PATCH', `${MAPS}/a?fieldValidation=Strict`, { body: '{"data":{"a":"1","a":"2"}}' });
  assert.equal(strict.status, 422);
  assert.match(strict.textAt('message'), /: strict decoding error: duplicate field "data\.a"$/);
  const other = await api.call('PATCH', `${MAPS}/a`, { body: '{"kind":"Secret"}' });
  assert.equal(other.status, 422);
  assert.match(other.textAt('message'), /: converting \(v1\.Secret\) to \(core\.ConfigMap\): unknown conversion$/);
});

test('a writer of the scale subresource owns the replicas field', async () => {
  const deployments = '/apis/apps/v1/namespaces/default/deployments';
  const template = { metadata: { labels: { app: 'w' } }, spec: { containers: [{ name: 'c', image: 'i' }] } };
  const spec = { replicas: 1, selector: { matchLabels: { app: 'w' } }, template };
  await api.call('POST', `${deployments}?fieldManager=maker`, {
    body: { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'w' }, spec },
  });
  await api.call('PATCH', `${deployments}/w/scale?fieldManager=scaler`, { body: { spec: { replicas: 3 } } });
  const stored = await api.call('GET', `${deployments}/w`);
  const entries = stored.at('metadata.managedFields') as readonly {
    manager: string;
    subresource?: string;
    fieldsV1: unknown;
  }[];
  const scaler = entries.find(({ manager }) => manager === 'scaler');
  assert.deepEqual([scaler?.subresource, scaler?.fieldsV1], ['scale', { 'f:spec': { 'f:replicas': {} } }]);
  assert.doesNotMatch(JSON.stringify(entries.find(({ manager }) => manager === 'maker')), /f:replicas/);
});

test('reviews without attributes, or with too many, are refused with different messages', () => {
  const kind = 'SelfSubjectAccessReview';
  const review = (plural: string, body: object, answer: Asked['answer'], namespace = ''): Asked => ({
    url: `/apis/authorization.k8s.io/v1/${namespace}${plural}`,
    body: JSON.stringify({ apiVersion: 'authorization.k8s.io/v1', ...body }),
    answer,
  });
  const invalid = '.authorization.k8s.io "" is invalid: ';
  const question =
    'spec.resourceAttributes: Invalid value: "null": exactly one of nonResourceAttributes or resourceAttributes must be specified';
  const subject = 'spec.user: Invalid value: "": at least one of user or group must be specified';
  const both = { nonResourceAttributes: { path: '/x', verb: 'get' }, resourceAttributes: { verb: 'get' } };
  return compare([
    review('selfsubjectaccessreviews', { kind, spec: {} }, [422, `${invalid}${question}`]),
    review('selfsubjectaccessreviews', { kind, spec: both }, [
      422,
      `${invalid}spec.nonResourceAttributes: Invalid value: authorization.NonResourceAttributes{Path:"/x", Verb:"get"}: cannot be specified in combination with resourceAttributes`,
    ]),
    review('subjectaccessreviews', { kind: 'SubjectAccessReview', spec: {} }, [
      422,
      `${invalid}[${question}, ${subject}]`,
    ]),
    review(
      'localsubjectaccessreviews',
      { kind: 'LocalSubjectAccessReview', spec: { user: 'u', resourceAttributes: { namespace: 'other' } } },
      [422, `${invalid}spec.resourceAttributes.namespace: Invalid value: "other": must match metadata.namespace`],
      'namespaces/default/',
    ),
  ]);
});

test('an allowed answer names its binding, and a refused grant names the missing rules', async () => {
  const rbac = '/apis/rbac.authorization.k8s.io/v1/namespaces/default';
  const apiVersion = 'rbac.authorization.k8s.io/v1';
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'r' };
  const rules = [
    { apiGroups: [''], resources: ['pods'], verbs: ['get'] },
    { apiGroups: ['rbac.authorization.k8s.io'], resources: ['roles'], verbs: ['create'] },
  ];
  await api.call('POST', `${rbac}/roles`, { body: { apiVersion, kind: 'Role', metadata: { name: 'r' }, rules } });
  await api.call('POST', `${rbac}/rolebindings`, {
    body: {
      apiVersion,
      kind: 'RoleBinding',
      metadata: { name: 'b' },
      roleRef,
      subjects: [
        { kind: 'User', name: 'nobody' },
        { kind: 'ServiceAccount', name: 'local', namespace: '' },
      ],
    },
  });
  const asked = { namespace: 'default', verb: 'get', resource: 'pods' };
  for (const [user, to] of [
    ['nobody', 'User "nobody"'],
    ['system:serviceaccount:default:local', 'ServiceAccount "local/default"'],
  ]) {
    const review = await api.call('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', {
      body: {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SubjectAccessReview',
        spec: { user, resourceAttributes: asked },
      },
    });
    assert.equal(review.at('status.reason'), `RBAC: allowed by RoleBinding "b/default" of Role "r" to ${to}`);
  }
  const more = [{ apiGroups: [''], resources: ['secrets', 'pods'], verbs: ['get', 'list'] }];
  const refused = await api.call('POST', `${rbac}/roles`, {
    as: 'nobody',
    body: { apiVersion, kind: 'Role', metadata: { name: 'more' }, rules: more },
  });
  assert.deepEqual(refused.textAt('message').split('\n').slice(1), [
    '{APIGroups:[""], Resources:["pods"], Verbs:["list"]}',
    '{APIGroups:[""], Resources:["secrets"], Verbs:["get" "list"]}',
  ]);
  assert.match(refused.textAt('message'), /: user "nobody" \(groups=\[.*\]\) is attempting to grant RBAC permissions/);
});

test('a scale is applied to the object behind it, and accepts only replicas', async () => {
  const deployments = '/apis/apps/v1/namespaces/default/deployments';
  const template = { metadata: { labels: { app: 's' } }, spec: { containers: [{ name: 'c', image: 'i' }] } };
  const spec = { replicas: 1, selector: { matchLabels: { app: 's' } }, template };
  await api.call('POST', `${deployments}?fieldManager=maker`, {
    body: { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 's' }, spec },
  });
  const scaled = async (query: string, wanted: object, apiVersion = 'autoscaling/v1') =>
    api.call('PATCH', `${deployments}/s/scale?fieldManager=scaler${query}`, {
      headers: { 'content-type': 'application/apply-patch+yaml' },
      body: { apiVersion, kind: 'Scale', metadata: { name: 's' }, spec: wanted },
    });
  const taken = await scaled('', { replicas: 3 });
  assert.deepEqual(
    [taken.status, taken.at('message')],
    [409, 'Apply failed with 1 conflict: conflict with "maker" using apps/v1: .spec.replicas'],
  );
  const forced = await scaled('&force=true', { replicas: 3 });
  assert.deepEqual([forced.status, forced.at('kind'), forced.at('spec.replicas')], [200, 'Scale', 3]);
  const other = await scaled('', { replicas: 3, template: {} });
  assert.deepEqual(
    [other.status, other.at('message')],
    [
      500,
      'failed to create typed patch object (default/s; autoscaling/v1, Kind=Scale): .spec.template: field not declared in schema',
    ],
  );
  const version = await scaled('', { replicas: 3 }, 'apps/v1');
  assert.deepEqual(
    [version.status, version.at('message')],
    [400, 'Incorrect version specified in apply patch. Specified patch version: apps/v1, expected: autoscaling/v1'],
  );
});

test('a replaced scale must be a Scale of that object', async () => {
  const deployments = '/apis/apps/v1/namespaces/default/deployments';
  const template = { metadata: { labels: { app: 'p' } }, spec: { containers: [{ name: 'c', image: 'i' }] } };
  const made = await api.call('POST', deployments, {
    body: {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'p' },
      spec: { selector: { matchLabels: { app: 'p' } }, template },
    },
  });
  const put = (metadata: object, kind = 'Scale', apiVersion = 'autoscaling/v1'): string =>
    JSON.stringify({ apiVersion, kind, metadata, spec: { replicas: 2 } });
  const asked = (body: string, answer: Asked['answer']): Asked => ({
    method: 'PUT',
    url: `${deployments}/p/scale`,
    body,
    answer,
  });
  const uid = made.textAt('metadata.uid');
  await compare([
    asked(put({}), [400, 'the name of the object (p based on URL) was undeterminable: name must be provided']),
    asked(put({ name: 'p' }, 'Foo'), [
      400,
      `Foo in version "v1" cannot be handled as a Scale: no kind "Foo" is registered for version "autoscaling/v1" ${SCHEME}`,
    ]),
    asked(put({ name: 'p', uid: 'x' }), [
      409,
      `Operation cannot be fulfilled on deployments.apps "p": StorageError: invalid object, Code: 4, Key: /registry/deployments/default/p, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: x, UID in object meta: ${uid}`,
    ]),
    asked(put({ name: 'p' }, 'Scale', 'apps/v1beta1'), [200, undefined]),
  ]);
});

test('an apply to an absent object must contain its name', () =>
  compare([
    {
      method: 'PATCH',
      url: `${MAPS}/new?fieldManager=m`,
      type: 'application/apply-patch+yaml',
      body: '{"apiVersion":"v1","kind":"ConfigMap"}',
      answer: [400, 'the name of the object (new based on URL) was undeterminable: name must be provided'],
    },
  ]));

/** Names that every object of JavaScript has. */
const INHERITED = ['constructor', 'toString', '__proto__'];

const podWith = (name: string, spec: string): string =>
  `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"${name.toLowerCase()}"},"spec":{"containers":[{"name":"c","image":"i"}]${spec}}}`;

test('names of JavaScript members are not subresources or kinds', async () => {
  const pods = '/api/v1/namespaces/default/pods';
  const made = await api.call('POST', pods, { body: podWith('inherits', '') });
  assert.equal(made.status, 201);
  const url = (name: string): string => `${pods}/inherits/${name}`;
  const answer = [404, 'the server could not find the requested resource'] as const;
  await compare(
    INHERITED.flatMap((name): readonly Asked[] => [
      { method: 'GET', url: url(name), answer },
      { method: 'PUT', url: url(name), body: podWith('inherits', ''), answer },
      { method: 'PATCH', url: url(name), type: 'application/merge-patch+json', body: '{}', answer },
      {
        body: `{"apiVersion":"v1","kind":"${name}"}`,
        answer: [
          400,
          `${name} in version "v1" cannot be handled as a ConfigMap: no kind "${name}" is registered for version "v1" ${SCHEME}`,
        ],
      },
    ]),
  );
});

test('names of JavaScript members have no quantities and no labels', async () => {
  for (const name of INHERITED) {
    const container = `{"name":"c","image":"i","resources":{"requests":{"${name}":"1"}}}`;
    const pod = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[${container}]}}`;
    const range = `{"metadata":{"name":"r"},"spec":{"limits":[{"type":"Container","max":{"${name}":"1"}}]}}`;
    assert.equal((await api.call('POST', '/api/v1/namespaces/default/pods', { body: pod })).status, 422, name);
    assert.equal((await api.call('POST', '/api/v1/namespaces/default/limitranges', { body: range })).status, 422, name);
  }
  const term = '{"topologyKey":"a","labelSelector":{"matchLabels":{"x":"y"}},"matchLabelKeys":["constructor"]}';
  const affinity = `,"affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[${term}]}}`;
  const made = await api.call('POST', '/api/v1/namespaces/default/pods', { body: podWith('follows', affinity) });
  assert.equal(made.status, 201, made.textAt('message'));
});
