import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { allResources } from '@holdfast/api';
import { podBody, startTestApi, type TestApi } from '../testing/fixture.ts';
import { callInProtobuf, framesOf, PROTOBUF, readFrame } from '../testing/protobuf.ts';

const MAPS = '/api/v1/namespaces/default/configmaps';
const PODS = '/api/v1/namespaces/default/pods';

let api: TestApi;
beforeEach(async () => {
  api = await startTestApi();
});
afterEach(() => api.stop());

const mapNamed = (name: string, data: object = {}): object => ({ metadata: { name }, data });
const createMap = (name: string, data?: object) => api.call('POST', MAPS, { body: mapNamed(name, data) });
const valueAt = (object: object, ...path: readonly (string | number)[]): unknown =>
  path.reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], object);
const namesOf = (list: object): unknown =>
  (valueAt(list, 'items') as object[] | undefined)?.map((item) => valueAt(item, 'metadata', 'name'));

test('an object is answered in protobuf to clients that prefer it, and equals the JSON object', async () => {
  const container = { name: 'c', image: 'i', resources: { requests: { cpu: '100m' } } };
  const spec = { containers: [container], securityContext: { runAsUser: 0 } };
  await api.call('POST', PODS, { body: { metadata: { name: 'a' }, spec } });
  const json = (await api.call('GET', `${PODS}/a`)).body as Record<string, unknown>;
  for (const accept of [
    PROTOBUF,
    `${PROTOBUF},application/json`,
    `${PROTOBUF}, */*`,
    `application/json;q=0.5,${PROTOBUF}`,
  ]) {
    const { status, type, object } = await callInProtobuf(api, 'GET', `${PODS}/a`, { accept });
    assert.deepEqual([status, type], [200, PROTOBUF]);
    assert.deepEqual([object['metadata'], object['spec']], [json['metadata'], json['spec']]);
  }
  for (const accept of ['*/*', `application/json,${PROTOBUF}`, `${PROTOBUF};q=0.1,application/json`]) {
    const answer = await api.call('GET', `${PODS}/a`, { headers: { accept } });
    assert.deepEqual([answer.headers['content-type'], answer.body], ['application/json', json]);
  }
});

test('writes are answered in protobuf, with the resulting state', async () => {
  const created = await callInProtobuf(api, 'POST', MAPS, { body: mapNamed('a', { k: 'Grüße' }) });
  assert.deepEqual([created.status, created.object['data']], [201, { k: 'Grüße' }]);
  const patched = await callInProtobuf(api, 'PATCH', `${MAPS}/a`, { body: { data: { k: null, l: '2' } } });
  assert.deepEqual([patched.status, patched.object['data']], [200, { l: '2' }]);
  assert.notEqual(
    valueAt(patched.object, 'metadata', 'resourceVersion'),
    valueAt(created.object, 'metadata', 'resourceVersion'),
  );
  const replaced = await callInProtobuf(api, 'PUT', `${MAPS}/a`, { body: mapNamed('a', { m: '3' }) });
  assert.deepEqual([replaced.status, replaced.object['data']], [200, { m: '3' }]);
  const deleted = await callInProtobuf(api, 'DELETE', `${MAPS}/a`);
  const { status, kind, details } = deleted.object;
  assert.deepEqual([kind, status, valueAt(details as object, 'name')], ['Status', 'Success', 'a']);
});

test('every component sends errors as a Status in protobuf', async () => {
  const said = async (url: string, call = {}): Promise<unknown[]> => {
    const { status, type, object } = await callInProtobuf(api, 'GET', url, call);
    return [status, type, object['kind'], object['reason'], object['code']];
  };
  assert.deepEqual(await said(`${MAPS}/none`), [404, PROTOBUF, 'Status', 'NotFound', 404]);
  assert.deepEqual(await said(MAPS, { as: 'nobody' }), [403, PROTOBUF, 'Status', 'Forbidden', 403]);
  assert.deepEqual(await said(MAPS, { as: 'stranger' }), [401, PROTOBUF, 'Status', 'Unauthorized', 401]);
  assert.deepEqual(await said('/apis/apps/v1/none'), [404, PROTOBUF, 'Status', 'NotFound', 404]);
});

test('an error uses the accepted plain type, not the requested object form', async () => {
  const as = ';as=PartialObjectMetadata;g=meta.k8s.io;v=v1';
  const answer = await api.call('GET', `${MAPS}/none`, {
    headers: { accept: `${PROTOBUF}${as},application/json${as},application/json` },
  });
  assert.deepEqual([answer.headers['content-type'], answer.at('reason')], ['application/json', 'NotFound']);
});

test('a list has its items and its page data, and nothing else', async () => {
  for (let i = 0; i < 230; i++) await createMap(`m${String(i).padStart(3, '0')}`, { k: 'x'.repeat(i * 5) });
  const json = await api.call('GET', MAPS);
  const { object, type } = await callInProtobuf(api, 'GET', MAPS);
  assert.deepEqual([type, object['kind'], object['metadata']], [PROTOBUF, 'ConfigMapList', json.at('metadata')]);
  assert.deepEqual(namesOf(object), json.names());
  assert.equal(valueAt(object, 'items', 229, 'data', 'k'), 'x'.repeat(229 * 5));
  const page = await callInProtobuf(api, 'GET', `${MAPS}?limit=2`);
  const token = String(valueAt(page.object, 'metadata', 'continue'));
  assert.deepEqual(
    [namesOf(page.object), valueAt(page.object, 'metadata', 'remainingItemCount')],
    [['m000', 'm001'], 228],
  );
  const next = await callInProtobuf(api, 'GET', `${MAPS}?limit=1&continue=${token}`);
  assert.deepEqual(namesOf(next.object), ['m002']);
  assert.deepEqual(
    namesOf((await callInProtobuf(api, 'DELETE', `${MAPS}?dryRun=All&limit=3`)).object)?.toString(),
    'm000,m001,m002',
  );
});

test('every kind is listed in protobuf', async () => {
  for (const { group, version, plural, kind } of allResources()) {
    const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
    const { status, type, object } = await callInProtobuf(api, 'GET', `${root}/${plural}`);
    assert.deepEqual([status, type, object['kind']], [200, PROTOBUF, `${kind}List`]);
  }
  const { object } = await callInProtobuf(api, 'GET', '/api/v1/componentstatuses');
  assert.equal(object['kind'], 'ComponentStatusList');
});

test('an object stored in another version is shown in the requested one', async () => {
  const spec = { scaleTargetRef: { kind: 'Deployment', name: 'd' }, maxReplicas: 3 };
  const url = (version: string): string => `/apis/autoscaling/${version}/namespaces/default/horizontalpodautoscalers`;
  await api.call('POST', url('v1'), {
    body: { metadata: { name: 'h' }, spec: { ...spec, targetCPUUtilizationPercentage: 7 } },
  });
  const first = await callInProtobuf(api, 'GET', `${url('v1')}/h`);
  const second = await callInProtobuf(api, 'GET', `${url('v2')}/h`);
  assert.equal(valueAt(first.object, 'spec', 'targetCPUUtilizationPercentage'), 7);
  assert.equal(valueAt(second.object, 'spec', 'metrics', 0, 'resource', 'target', 'averageUtilization'), 7);
  const [frame] = await framesOf(api, `${url('v2')}?watch=1`, 1);
  assert.equal(frame === undefined ? '' : readFrame(frame).object['apiVersion'], 'autoscaling/v2');
});

test('metadata alone, of one and of many objects, in both versions', async () => {
  await createMap('a', { k: 'v' });
  const accept = (as: string, v: string): string => `${PROTOBUF};as=${as};g=meta.k8s.io;v=${v},application/json`;
  for (const version of ['v1', 'v1beta1']) {
    const one = await callInProtobuf(api, 'GET', `${MAPS}/a`, { accept: accept('PartialObjectMetadata', version) });
    assert.deepEqual(
      [one.object['apiVersion'], valueAt(one.object, 'metadata', 'name')],
      [`meta.k8s.io/${version}`, 'a'],
    );
    assert.equal(one.object['data'], undefined);
    const many = await callInProtobuf(api, 'GET', MAPS, { accept: accept('PartialObjectMetadataList', version) });
    assert.deepEqual([many.object['kind'], namesOf(many.object)], ['PartialObjectMetadataList', ['a']]);
    const [frame] = await framesOf(api, `${MAPS}?watch=1`, 1, accept('PartialObjectMetadata', version));
    assert.equal(frame === undefined ? '' : readFrame(frame).object['kind'], 'PartialObjectMetadata');
  }
});

test('tables have no protobuf form: the next accepted type, or 406', async () => {
  await createMap('a');
  const table = ';as=Table;g=meta.k8s.io;v=v1';
  const next = await api.call('GET', MAPS, { headers: { accept: `${PROTOBUF}${table},application/json${table}` } });
  assert.deepEqual([next.status, next.headers['content-type'], next.at('kind')], [200, 'application/json', 'Table']);
  const plain = await callInProtobuf(api, 'GET', MAPS, { accept: `${PROTOBUF}${table},${PROTOBUF}` });
  assert.equal(plain.object['kind'], 'ConfigMapList');
  const none = await api.call('GET', MAPS, { headers: { accept: `${PROTOBUF}${table}` } });
  assert.deepEqual([none.status, none.at('reason')], [406, 'NotAcceptable']);
});

test('discovery is available in protobuf, aggregated and per group', async () => {
  const kinds = [
    ['/api', 'APIVersions'],
    ['/apis', 'APIGroupList'],
    ['/apis/apps', 'APIGroup'],
    ['/apis/apps/v1', 'APIResourceList'],
    ['/api/v1', 'APIResourceList'],
  ] as const;
  for (const [url, kind] of kinds) {
    const json = (await api.call('GET', url)).body as object;
    const { type, object } = await callInProtobuf(api, 'GET', url);
    assert.deepEqual([type, object['kind']], [PROTOBUF, kind]);
    assert.deepEqual(valueAt(object, 'resources', 0, 'verbs'), valueAt(json, 'resources', 0, 'verbs'));
  }
  const form = 'g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
  const { type, object } = await callInProtobuf(api, 'GET', '/apis', { accept: `${PROTOBUF};${form}` });
  const json = await api.call('GET', '/apis', { headers: { accept: `application/json;${form}` } });
  assert.equal(type, `${PROTOBUF};${form}`);
  assert.deepEqual(namesOf(object), json.names());
  assert.deepEqual(
    valueAt(object, 'items', 0, 'versions', 0, 'resources', 0, 'responseKind', 'kind'),
    json.at('items.0.versions.0.resources.0.responseKind.kind'),
  );
});

test('subresources and reviews are answered in protobuf', async () => {
  const deployment = {
    metadata: { name: 'd' },
    spec: {
      replicas: 0,
      selector: { matchLabels: { a: 'b' } },
      template: { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
    },
  };
  const deployments = '/apis/apps/v1/namespaces/default/deployments';
  const created = await callInProtobuf(api, 'POST', deployments, { body: deployment });
  assert.deepEqual([created.status, valueAt(created.object, 'spec', 'replicas')], [201, 0]);
  const scale = await callInProtobuf(api, 'GET', `${deployments}/d/scale`);
  assert.deepEqual([scale.object['kind'], valueAt(scale.object, 'status', 'selector')], ['Scale', 'a=b']);
  const review = { spec: { resourceAttributes: { verb: 'get', resource: 'pods' } } };
  const allowed = await callInProtobuf(api, 'POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', {
    body: review,
  });
  assert.deepEqual(
    [allowed.object['kind'], valueAt(allowed.object, 'status', 'allowed')],
    ['SelfSubjectAccessReview', true],
  );
  await api.call('POST', PODS, { body: podBody('a') });
  const binding = { target: { kind: 'Node', name: 'n' }, metadata: { name: 'a' } };
  const bound = await callInProtobuf(api, 'POST', `${PODS}/a/binding`, { body: binding, as: 'scheduler' });
  assert.deepEqual([bound.status, bound.object['kind'], bound.object['status']], [201, 'Status', 'Success']);
});

test('a pretty protobuf answer contains no added line breaks', async () => {
  await createMap('a');
  const { object } = await callInProtobuf(api, 'GET', `${MAPS}/a?pretty=true`, { headers: { 'user-agent': 'curl/8' } });
  assert.equal(object['kind'], 'ConfigMap');
});

test('a changed object is encoded again', async () => {
  await createMap('a', { k: '1' });
  assert.deepEqual((await callInProtobuf(api, 'GET', `${MAPS}/a`)).object['data'], { k: '1' });
  await api.call('PATCH', `${MAPS}/a`, { body: { data: { k: '2' } } });
  assert.deepEqual((await callInProtobuf(api, 'GET', `${MAPS}/a`)).object['data'], { k: '2' });
});
