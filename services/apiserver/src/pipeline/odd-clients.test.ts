import { strict as assert } from 'node:assert';
import { after, before, test } from 'node:test';
import type { HttpMethod } from '@holdfast/client';
import { joinValues } from '../http/header-values.ts';
import { type Answer, configMapBody, podBody, startTestApi, type TestApi } from '../testing/fixture.ts';

/** Kubernetes 1.32's behaviour for other representations, impersonation, and time-outs. */
const MAPS = '/api/v1/namespaces/default/configmaps';
const PODS = '/api/v1/namespaces/default/pods';

let api: TestApi;
before(async () => {
  api = await startTestApi();
  assert.equal((await api.call('POST', MAPS, { body: configMapBody('a', { k: 'v' }) })).status, 201);
});
after(() => api.stop());

const textOf = ({ raw: { body } }: Answer): string =>
  body.kind === 'json' ? new TextDecoder().decode(body.bytes()) : '';

const form = (as: string): Readonly<Record<string, string>> => ({
  accept: `application/json;as=${as};g=meta.k8s.io;v=v1`,
});

test('answers have line breaks on request, and for command line programs', async () => {
  const isIndented = async (url: string, headers: Record<string, string> = {}): Promise<boolean> => {
    const answer = await api.call('GET', url, { headers });
    const text = textOf(answer);
    const wanted = JSON.stringify(answer.body, undefined, 2);
    assert.ok(text === wanted || text === JSON.stringify(answer.body), text);
    return text === wanted;
  };
  const curl = { 'user-agent': 'curl/8.0' };
  for (const url of [MAPS, `${MAPS}/a`, `${MAPS}/none`, '/apis', '/api/v1', `${MAPS}/a?resourceVersion=x`]) {
    assert.equal(await isIndented(url), false, url);
    assert.equal(await isIndented(url, curl), true, url);
  }
  for (const yes of ['1', 'true', 'T']) assert.equal(await isIndented(`${MAPS}/a?pretty=${yes}`), true, yes);
  for (const no of ['0', 'false', 'yes']) assert.equal(await isIndented(`${MAPS}/a?pretty=${no}`, curl), false, no);
  assert.equal(await isIndented(`${MAPS}/a?pretty=`, { 'user-agent': 'Wget/1.21' }), true);
  assert.equal(await isIndented(MAPS, { 'user-agent': 'Mozilla/5.0 (X11)' }), true);
  assert.equal(await isIndented(MAPS, { 'user-agent': 'kubectl/v1.32.0' }), false);
  assert.equal(await isIndented(MAPS, { accept: 'application/json;pretty=1' }), true);
  assert.equal(await isIndented(MAPS, { ...curl, ...form('Table') }), true);
  assert.equal(await isIndented('/openapi/v3/api/v1', curl), false);
  for (const url of ['/version', '/']) assert.equal(await isIndented(url), true, url);
});

test('an answer that line breaks would enlarge many times has none', async () => {
  const url = '/apis/apps/v1/namespaces/default/controllerrevisions';
  const numbers = `[${'1,'.repeat(9_000)}1],`.repeat(6);
  const textAtDepth = async (name: string, depth: number): Promise<readonly [string, Answer]> => {
    const data = `${'['.repeat(depth)}${numbers}"\\"[{"${']'.repeat(depth)}`;
    const body = `{"metadata":{"name":"${name}"},"revision":1,"data":{"x":${data}}}`;
    assert.equal((await api.call('POST', url, { body })).status, 201);
    const answer = await api.call('GET', `${url}/${name}?pretty=true`);
    const { body: sent } = answer.raw;
    assert.ok(sent.kind === 'json');
    assert.equal(sent.bytes(), sent.bytes(), 'made once');
    return [textOf(answer), answer];
  };
  const [shallow, small] = await textAtDepth('shallow', 10);
  assert.equal(shallow, JSON.stringify(small.body, undefined, 2));
  const [deep, large] = await textAtDepth('deep', 150);
  assert.equal(deep, JSON.stringify(large.body));
});

test('YAML and streams stay as they are', async () => {
  const yaml = await api.call('GET', `${MAPS}/a?pretty=true`, { headers: { accept: 'application/yaml' } });
  assert.match(String(yaml.body), /^apiVersion: v1\n/);
  const [first] = await api.watch(`${MAPS}?watch=1&pretty=true`, 1);
  assert.equal(first?.type, 'ADDED');
});

test('an output form that cannot show the result is refused before any write', async () => {
  const refused = async (method: HttpMethod, url: string, as: string, body?: unknown): Promise<unknown> => {
    const answer = await api.call(method, url, { headers: form(as), ...(body === undefined ? {} : { body }) });
    return [answer.status, answer.at('message')];
  };
  const noList = [
    406,
    'you requested PartialObjectMetadataList, but the requested object is not a list (*core.ConfigMap)',
  ];
  assert.deepEqual(await refused('DELETE', MAPS, 'PartialObjectMetadata'), [
    406,
    'you requested PartialObjectMetadata, but the requested object is a list (*core.ConfigMapList)',
  ]);
  assert.deepEqual(await refused('POST', MAPS, 'PartialObjectMetadataList', configMapBody('new')), noList);
  assert.deepEqual(await refused('PUT', `${MAPS}/a`, 'PartialObjectMetadataList', configMapBody('a')), noList);
  assert.deepEqual(await refused('PATCH', `${MAPS}/a`, 'PartialObjectMetadataList', { data: { k: 'w' } }), noList);
  assert.deepEqual(await refused('DELETE', `${MAPS}?includeObject=Foo`, 'Table'), [
    400,
    `Unable to convert to Table as requested: includeObject: Invalid value: "Foo": must be 'Metadata', 'Object', 'None', or empty`,
  ]);
  assert.equal((await api.call('GET', `${MAPS}/new`)).status, 404);
  assert.equal((await api.call('GET', `${MAPS}/a`)).at('data.k'), 'v');
});

test('writes and deletions are answered in the requested form', async () => {
  const ask = async (method: HttpMethod, url: string, as: string, body?: unknown): Promise<unknown> => {
    const answer = await api.call(method, url, { headers: form(as), ...(body === undefined ? {} : { body }) });
    return [answer.status, answer.at('kind')];
  };
  assert.deepEqual(await ask('POST', MAPS, 'PartialObjectMetadata', configMapBody('b')), [
    201,
    'PartialObjectMetadata',
  ]);
  assert.deepEqual(await ask('PATCH', `${MAPS}/b`, 'Table', { data: { k: 'w' } }), [200, 'Table']);
  assert.deepEqual(await ask('DELETE', `${MAPS}/b`, 'PartialObjectMetadataList'), [200, 'Status']);
  await api.call('POST', PODS, { body: podBody('p') });
  assert.deepEqual(await ask('DELETE', `${PODS}/p`, 'PartialObjectMetadataList'), [406, 'Status']);
  assert.equal((await api.call('GET', `${PODS}/p`)).at('metadata.deletionTimestamp'), undefined);
  assert.deepEqual(await ask('DELETE', `${PODS}/p`, 'PartialObjectMetadata'), [200, 'PartialObjectMetadata']);
  await api.call('POST', PODS, { body: podBody('q') });
  assert.deepEqual(await ask('DELETE', PODS, 'PartialObjectMetadataList'), [200, 'PartialObjectMetadataList']);
  assert.equal((await api.call('GET', `${PODS}/q`)).status, 404);
});

test('orphanDependents=false reports a deletion that is not complete', async () => {
  const held = { metadata: { name: 'held', finalizers: ['example.com/x'] } };
  assert.equal((await api.call('POST', MAPS, { body: held })).status, 201);
  const statusOf = async (body: unknown): Promise<number> =>
    (await api.call('DELETE', `${MAPS}/held`, { body })).status;
  assert.equal(await statusOf({}), 200);
  assert.equal(await statusOf({ orphanDependents: false }), 202);
  assert.equal(await statusOf({ orphanDependents: true, dryRun: ['All'] }), 200);
});

test('impersonation values may be percent-encoded, and a badly encoded one is taken literally', async () => {
  const extraOf = async (header: string): Promise<unknown> => {
    const answer = await api.call('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', {
      headers: { 'impersonate-user': 'u', [header]: 'v' },
      body: {},
    });
    return [answer.status, answer.at('status.userInfo.extra')];
  };
  assert.deepEqual(await extraOf('impersonate-extra-a%2fb'), [201, { 'a/b': ['v'] }]);
  assert.deepEqual(await extraOf('impersonate-extra-%zz%2f'), [201, { '%zz%2f': ['v'] }]);
  assert.deepEqual(await extraOf('impersonate-extra-%c3%a9'), [201, { é: ['v'] }]);
  assert.deepEqual(await extraOf('impersonate-extra-%ff'), [201, { '\ufffd': ['v'] }]);
});

test('a comma is part of the name of a group', async () => {
  const groups = ['cn=a,ou=b', 'system:authenticated'];
  const answer = await api.call('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', {
    headers: { 'impersonate-user': 'u', 'impersonate-group': joinValues(groups) },
    body: {},
  });
  assert.deepEqual(answer.at('status.userInfo.groups'), groups);
});

test('a refusal with user-chosen names disables content sniffing in browsers', async () => {
  const { status, headers } = await api.call('GET', '/<b>', { as: 'nobody' });
  assert.deepEqual([status, headers['x-content-type-options']], [403, 'nosniff']);
  assert.equal((await api.call('GET', `${MAPS}/none`)).headers['x-content-type-options'], undefined);
});

test('the timeout of a request is a Go duration', async () => {
  const answerTo = async (timeout: string, url = MAPS): Promise<unknown> => {
    const answer = await api.call('GET', `${url}?timeout=${encodeURIComponent(timeout)}`);
    return answer.status === 400 ? answer.at('message') : answer.status;
  };
  const refused = 'invalid timeout specified in the request URL - time: ';
  for (const fine of ['32s', '1h2m3.5s', '0', '-1s', '']) assert.equal(await answerTo(fine), 200, fine);
  // The answer may come too late.
  for (const short of ['+.5ms', '5µs']) assert.ok([200, 504].includes(Number(await answerTo(short))), short);
  assert.equal(await answerTo('bad'), `${refused}invalid duration "bad"`);
  assert.equal(await answerTo('1.s.'), `${refused}invalid duration "1.s."`);
  assert.equal(await answerTo('5'), `${refused}missing unit in duration "5"`);
  assert.equal(await answerTo('5x'), `${refused}unknown unit "x" in duration "5x"`);
  for (const long of ['9999999999h', '2562047h48m', '99999999999999999999', '-9999999999h5x'])
    assert.equal(await answerTo(long), `${refused}invalid duration "${long}"`);
  assert.equal(await answerTo('2562047h47m'), 200);
  assert.equal(await answerTo('5', '/version'), `${refused}missing unit in duration "5"`);
  const [first] = await api.watch(`${MAPS}?watch=1&timeout=bad`, 1);
  assert.equal(first?.type, 'ADDED');
});

test('a scale has columns of its own, and only replicas to show', async () => {
  const url = '/apis/apps/v1/namespaces/default/deployments';
  const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } };
  const spec = { replicas: 2, selector: { matchLabels: { a: 'b' } }, template };
  assert.equal((await api.call('POST', url, { body: { metadata: { name: 'd' }, spec } })).status, 201);
  const ask = (method: HttpMethod, as: string, body?: unknown): Promise<Answer> =>
    api.call(method, `${url}/d/scale`, { headers: form(as), ...(body === undefined ? {} : { body }) });
  const table = await ask('GET', 'Table');
  const columns = (table.at('columnDefinitions') as readonly { name: string }[]).map(({ name }) => name);
  assert.deepEqual(columns, ['Name', 'Desired', 'Available', 'Age']);
  assert.deepEqual((table.at('rows.0.cells') as readonly unknown[]).slice(0, 3), ['d', 2, 0]);
  assert.equal(table.at('rows.0.object.kind'), 'PartialObjectMetadata');
  assert.equal(
    (await ask('PATCH', 'PartialObjectMetadata', { spec: { replicas: 3 } })).at('kind'),
    'PartialObjectMetadata',
  );
  const refused = await ask('PATCH', 'PartialObjectMetadataList', { spec: { replicas: 4 } });
  assert.deepEqual(
    [refused.status, refused.at('message')],
    [406, 'you requested PartialObjectMetadataList, but the requested object is not a list (*autoscaling.Scale)'],
  );
  assert.equal((await api.call('GET', `${url}/d/scale`)).at('spec.replicas'), 3);
});
