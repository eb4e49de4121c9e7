import assert from 'node:assert/strict';
import { test } from 'node:test';
import { servedKinds } from '../endpoints/served-kinds.ts';
import { all, entry, type Message, on, read, texts } from '../testing/wire-messages.ts';
import { whole } from '../turns/parts.ts';
import { openApi2 } from './version-2.ts';
import { openApi2Protobuf } from './version-2-protobuf.ts';

const document = read(whole(openApi2Protobuf(openApi2(servedKinds(), 'v1.32.0'))));
const pod = entry(on(document, 8), '/api/v1/namespaces/{namespace}/pods/{name}', 2);
const GET = 2;
const PATCH = 8;

test('the document contains its info and its security definitions', () => {
  assert.deepEqual(texts(document, 1), ['2.0']);
  assert.deepEqual([texts(on(document, 2), 1), texts(on(document, 2), 2)], [['Kubernetes'], ['v1.32.0']]);
  assert.deepEqual(texts(on(document, 12, 1), 1), ['BearerToken']);
  const scheme = on(entry(on(document, 13), 'BearerToken'), 2);
  assert.deepEqual([texts(scheme, 1), texts(scheme, 2), texts(scheme, 3)], [['apiKey'], ['authorization'], ['header']]);
});

test('operations contain their id, parameters and answers', () => {
  const get = on(pod, GET);
  assert.deepEqual([texts(get, 1), texts(get, 5), texts(get, 7)], [['core_v1'], ['readCoreV1NamespacedPod'], ['*/*']]);
  assert.deepEqual(
    texts(get, 6),
    ['json', 'yaml', 'vnd.kubernetes.protobuf'].map((type) => `application/${type}`),
  );
  assert.deepEqual(texts(get, 10), ['https']);
  const answer = on(entry(on(get, 9), '200'), 1);
  assert.deepEqual(texts(on(answer, 2, 1), 1), ['#/definitions/io.k8s.api.core.v1.Pod']);
  assert.deepEqual(texts(on(entry(on(get, 9), '401'), 1), 1), ['Unauthorized']);
  assert.deepEqual(texts(entry(get, 'x-kubernetes-action', 13), 2), ['"get"\n']);
});

test('parameters are declared where they are used, or once for all', () => {
  const written = all(on(pod, PATCH), 8);
  const inline = written.map((item) => texts(on(item, 1, 2, 3), 4)[0]).filter((name) => name !== undefined);
  assert.deepEqual(inline, ['dryRun', 'fieldValidation']);
  const [body = ''] = texts(on(written[0] as Message, 2), 1);
  const shared = entry(on(document, 10), body.replace('#/parameters/', ''));
  assert.deepEqual([texts(on(shared, 1), 2), on(shared, 1).get(4)], [['body'], [1]]);
  const name = on(all(pod, 9)[0] as Message, 1, 2, 4);
  assert.deepEqual([texts(name, 4), name.get(1), name.get(19)], [['name'], [1], [1]]);
  assert.equal(texts(on(all(pod, 9)[1] as Message, 2), 1)[0]?.startsWith('#/parameters/namespace-'), true);
});

test('descriptions of fields are kept, and unknown members are left out', () => {
  const schema = {
    description: 'a reef',
    type: 'object',
    properties: { depth: { type: 'integer', minimum: 1.5, maxLength: 300, enum: [2, 3] } },
    additionalProperties: true,
    unheardOf: 1,
  };
  const written = read(whole(openApi2Protobuf({ definitions: { Coral: schema } })));
  const coral = entry(on(written, 9), 'Coral');
  assert.deepEqual([texts(coral, 4), on(coral, 21).get(2)], [['a reef'], [1]]);
  const depth = entry(on(coral, 25), 'depth');
  const [minimum] = depth.get(9) as Uint8Array[];
  assert.equal(Buffer.from(minimum ?? []).readDoubleLE(), 1.5);
  assert.deepEqual(depth.get(11), [300]);
  assert.deepEqual(
    all(depth, 20).map((each) => texts(each, 2)[0]),
    ['2\n', '3\n'],
  );
});
