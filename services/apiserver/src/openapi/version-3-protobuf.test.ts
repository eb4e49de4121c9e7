import assert from 'node:assert/strict';
import { test } from 'node:test';
import { servedKinds } from '../endpoints/served-kinds.ts';
import { signpost, signpostNames } from './signposts.ts';
import { openApi3 } from './version-3.ts';
import { openApi3Protobuf } from './version-3-protobuf.ts';

/** The fields of a message, by number. */
type Message = ReadonlyMap<number, readonly (Uint8Array | number)[]>;

function read(bytes: Uint8Array): Message {
  const fields = new Map<number, (Uint8Array | number)[]>();
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[at++] ?? 0;
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < bytes.length) {
    const tag = varint();
    const number = varint();
    const isNumber = (tag & 7) === 0;
    const value = isNumber ? number : bytes.subarray(at, at + number);
    if (!isNumber) at += number;
    fields.set(tag >>> 3, [...(fields.get(tag >>> 3) ?? []), value]);
  }
  return fields;
}

const all = (message: Message, field: number): Message[] =>
  (message.get(field) ?? []).map((bytes) => read(bytes as Uint8Array));
const texts = (message: Message, field: number): string[] =>
  (message.get(field) ?? []).map((bytes) => Buffer.from(bytes as Uint8Array).toString());

/** The first message on a path of field numbers. */
function on(message: Message, ...path: readonly number[]): Message {
  return path.reduce<Message>((inner, field) => all(inner, field)[0] ?? new Map(), message);
}

/** The value of an entry of a message of names. */
function entry(map: Message, name: string, entries = 1): Message {
  const found = all(map, entries).find((each) => texts(each, 1)[0] === name);
  assert.ok(found, name);
  return on(found, 2);
}

const apps = openApi3(servedKinds().filter(({ group, version }) => group === 'apps' && version === 'v1'));
const PREFIX = '#/components/schemas/';
const DEPLOYMENT = 'io.k8s.api.apps.v1.Deployment';

test('operations are told with what they take and answer', () => {
  const document = read(openApi3Protobuf(apps));
  assert.deepEqual(texts(document, 1), ['3.0.0']);
  assert.deepEqual(texts(on(document, 2), 1), ['Kubernetes']);
  const path = entry(on(document, 4), '/apis/apps/v1/namespaces/{namespace}/deployments/{name}');
  const get = on(path, 4);
  const answer = entry(on(get, 8), '200', 2);
  const answered = on(entry(on(answer, 1, 3), 'application/json'), 1, 2);
  assert.deepEqual(texts(answered, 1), [`${PREFIX}${DEPLOYMENT}`]);
  const names = all(path, 13).map((parameter) => texts(on(parameter, 1), 1)[0]);
  assert.deepEqual(names, ['namespace', 'name']);
  const body = on(path, 5, 7, 1);
  assert.deepEqual(body.get(3), [1], 'required');
  assert.deepEqual(texts(on(entry(on(body, 2), '*/*'), 1, 2), 1), [`${PREFIX}${DEPLOYMENT}`]);
  assert.deepEqual(texts(on(entry(get, 'x-kubernetes-action', 13)), 2), ['"get"\n']);
});

test('schemas are told with their fields, wherever these lead', () => {
  const document = read(openApi3Protobuf(apps));
  const schemas = on(document, 5, 1);
  const deployment = on(entry(schemas, DEPLOYMENT), 1);
  assert.deepEqual(texts(deployment, 25), ['object']);
  const spec = on(entry(on(deployment, 31), 'spec'), 1, 26, 2);
  assert.deepEqual(texts(spec, 1), [`${PREFIX}io.k8s.api.apps.v1.DeploymentSpec`]);
  const conditions = on(entry(on(entry(schemas, 'io.k8s.api.apps.v1.DeploymentStatus'), 1, 31), 'conditions'), 1);
  assert.deepEqual(texts(on(conditions, 30, 1, 2), 1), [`${PREFIX}io.k8s.api.apps.v1.DeploymentCondition`]);
  assert.deepEqual(texts(entry(conditions, 'x-kubernetes-list-map-keys', 36), 2), ['["type"]\n']);
  const replicas = on(entry(on(entry(schemas, 'io.k8s.api.apps.v1.DeploymentSpec'), 1, 31), 'replicas'), 1);
  assert.deepEqual([texts(replicas, 25), texts(replicas, 35)], [['integer'], ['int32']]);
});

test('every document has a wire form: nothing in it is without a field', () => {
  assert.ok(openApi3Protobuf(openApi3(servedKinds())).length > 100_000);
  for (const name of signpostNames()) assert.ok(openApi3Protobuf(signpost(name)).length > 50, name);
});
