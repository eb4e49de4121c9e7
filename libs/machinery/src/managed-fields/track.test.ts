import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FieldSet } from '../fieldpath/field-set.ts';
import { fieldSetOf } from '../fieldpath/field-set.ts';
import type { Json, JsonObject } from '../json.ts';
import { configMap, deployment, pod } from '../testing-schemas.ts';
import { managedFieldsOf, trackUpdate } from './track.ts';

const T1 = '2024-01-01T00:00:01Z';
const T2 = '2024-01-01T00:00:02Z';

interface Step {
  readonly live?: JsonObject;
  readonly updated: JsonObject;
  readonly manager?: string;
  readonly time?: string;
  readonly subresource?: string;
  readonly resetFields?: FieldSet;
}

const update = ({ live, updated, manager = 'm', time = T1, ...rest }: Step): JsonObject =>
  trackUpdate({ live, updated, schema: configMap(), manager, apiVersion: 'v1', time, ...rest });

const configMapWith = (data: JsonObject | undefined, metadata: JsonObject = {}): JsonObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'a', namespace: 'n', uid: 'u', resourceVersion: '1', creationTimestamp: T1, ...metadata },
  ...(data === undefined ? {} : { data }),
});

const fieldsOf = (object: JsonObject, index = 0): Json | undefined => {
  const entries = managedFieldsOf(object);
  const entry: Json | undefined = Array.isArray(entries) ? entries[index] : undefined;
  return typeof entry === 'object' && entry !== null && 'fieldsV1' in entry ? entry['fieldsV1'] : undefined;
};

test('a create owns the fields that it wrote, and none that the server dropped', () => {
  const created = update({ updated: configMapWith({ k: 'v' }), manager: '' });
  assert.deepEqual(managedFieldsOf(created), [
    {
      manager: 'unknown',
      operation: 'Update',
      apiVersion: 'v1',
      time: T1,
      fieldsType: 'FieldsV1',
      fieldsV1: { 'f:data': { '.': {}, 'f:k': {} } },
    },
  ]);
});

test('the members of a struct are owned, the struct itself only when it may be absent', () => {
  const created = trackUpdate({
    live: undefined,
    updated: {
      metadata: { name: 'web', labels: { app: 'web' }, creationTimestamp: null },
      spec: {
        replicas: 1,
        selector: { matchLabels: { app: 'web' } },
        strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: '25%' } },
        template: {
          metadata: { creationTimestamp: null, labels: { app: 'web' } },
          spec: {
            containers: [{ name: 'c', image: 'i', resources: {}, ports: [{ containerPort: 80, protocol: 'TCP' }] }],
            securityContext: {},
          },
        },
      },
      status: {},
    },
    schema: deployment(),
    manager: 'm',
    apiVersion: 'apps/v1',
    time: T1,
    resetFields: fieldSetOf(['f:status']),
  });
  assert.deepEqual(fieldsOf(created), {
    'f:metadata': { 'f:labels': { '.': {}, 'f:app': {} } },
    'f:spec': {
      'f:replicas': {},
      'f:selector': {},
      'f:strategy': { 'f:rollingUpdate': { '.': {}, 'f:maxSurge': {} }, 'f:type': {} },
      'f:template': {
        'f:metadata': { 'f:labels': { '.': {}, 'f:app': {} } },
        'f:spec': {
          'f:containers': {
            'k:{"name":"c"}': {
              '.': {},
              'f:image': {},
              'f:name': {},
              'f:ports': {
                '.': {},
                'k:{"containerPort":80,"protocol":"TCP"}': { '.': {}, 'f:containerPort': {}, 'f:protocol': {} },
              },
              'f:resources': {},
            },
          },
          'f:securityContext': {},
        },
      },
    },
  });
});

test('an update takes ownership of the changed fields and keeps the rest', () => {
  const created = update({ updated: configMapWith({ a: '1', b: '1' }), manager: 'one' });
  const changed = update({
    live: created,
    updated: configMapWith({ a: '1', b: '2', c: '1' }),
    manager: 'two',
    time: T2,
  });
  assert.deepEqual(fieldsOf(changed, 0), { 'f:data': { '.': {}, 'f:a': {} } });
  assert.deepEqual(fieldsOf(changed, 1), { 'f:data': { 'f:b': {}, 'f:c': {} } });
  const same = update({
    live: changed,
    updated: configMapWith({ a: '1', b: '2', c: '1' }),
    manager: 'three',
    time: T2,
  });
  assert.deepEqual(managedFieldsOf(same), managedFieldsOf(changed));
});

test('a writer keeps the fields it owned before; entries are sorted by time', () => {
  const created = update({ updated: configMapWith({ a: '1' }), manager: 'z' });
  const other = update({ live: created, updated: configMapWith({ a: '1', b: '1' }), manager: 'a', time: T2 });
  assert.deepEqual(
    [fieldsOf(other, 0), fieldsOf(other, 1)],
    [{ 'f:data': { '.': {}, 'f:a': {} } }, { 'f:data': { 'f:b': {} } }],
  );
  const again = update({ live: other, updated: configMapWith({ a: '1', b: '1', c: '1' }), manager: 'a', time: T2 });
  assert.deepEqual(fieldsOf(again, 1), { 'f:data': { 'f:b': {}, 'f:c': {} } });
});

test('a removed field has no owner, and an entry without fields is dropped', () => {
  const created = update({ updated: configMapWith({ a: '1' }), manager: 'one' });
  const emptied = update({ live: created, updated: configMapWith(undefined), manager: 'two', time: T2 });
  assert.equal(managedFieldsOf(emptied), undefined);
  assert.equal(JSON.stringify(emptied).includes('managedFields'), false);
  const refilled = update({ live: emptied, updated: configMapWith({ a: '1' }), manager: 'two' });
  assert.equal(managedFieldsOf(refilled), undefined);
});

test('a client that does not send managedFields does not lose them; one empty entry resets them', () => {
  const created = update({ updated: configMapWith({ a: '1' }), manager: 'one' });
  const untouched = (managedFields: Json): JsonObject =>
    update({ live: created, updated: configMapWith({ a: '1' }, { managedFields }), time: T2 });
  assert.deepEqual(managedFieldsOf(untouched([])), managedFieldsOf(created));
  assert.deepEqual(managedFieldsOf(untouched([{ operation: 'Bogus' }])), managedFieldsOf(created));
  assert.equal(managedFieldsOf(untouched([{}])), undefined);
  const own = [
    {
      manager: 'x',
      operation: 'Apply',
      apiVersion: 'v1',
      fieldsType: 'FieldsV1',
      fieldsV1: { 'f:data': { 'f:a': {} } },
    },
  ];
  assert.deepEqual(managedFieldsOf(untouched(own)), own);
  const status = update({
    live: created,
    updated: configMapWith({ a: '1' }, { managedFields: own }),
    subresource: 'status',
  });
  assert.deepEqual(managedFieldsOf(status), managedFieldsOf(created));
});

test('fields that the endpoint resets get no owner from its writes', () => {
  const created = update({ updated: configMapWith({ a: '1' }), resetFields: fieldSetOf(['f:data']) });
  assert.equal(managedFieldsOf(created), undefined);
});

test('each subresource has its own manager entry', () => {
  const created = update({ updated: configMapWith({ a: '1' }) });
  const changed = update({ live: created, updated: configMapWith({ a: '2' }), subresource: 'status', time: T2 });
  assert.deepEqual(managedFieldsOf(changed), [
    {
      manager: 'm',
      operation: 'Update',
      apiVersion: 'v1',
      time: T1,
      fieldsType: 'FieldsV1',
      fieldsV1: { 'f:data': {} },
    },
    {
      manager: 'm',
      operation: 'Update',
      apiVersion: 'v1',
      time: T2,
      fieldsType: 'FieldsV1',
      fieldsV1: { 'f:data': { 'f:a': {} } },
      subresource: 'status',
    },
  ]);
});

test('an entry of a writer without a time has no time and comes first', () => {
  const created = update({ updated: configMapWith({ a: '1' }) });
  const input = {
    live: created,
    updated: configMapWith({ a: '2' }),
    schema: configMap(),
    manager: 'm',
    apiVersion: 'v1',
    subresource: 'scale',
  };
  assert.deepEqual(managedFieldsOf(trackUpdate({ ...input, time: undefined })), [
    {
      manager: 'm',
      operation: 'Update',
      apiVersion: 'v1',
      fieldsType: 'FieldsV1',
      fieldsV1: { 'f:data': { 'f:a': {} } },
      subresource: 'scale',
    },
    {
      manager: 'm',
      operation: 'Update',
      apiVersion: 'v1',
      time: T1,
      fieldsType: 'FieldsV1',
      fieldsV1: { 'f:data': {} },
    },
  ]);
});

test('the eleventh updater merges the oldest ones into a bucket', () => {
  let live = update({ updated: configMapWith({ k0: '' }), manager: 'm00' });
  for (let i = 1; i < 13; i += 1) {
    const data = Object.fromEntries(Array.from({ length: i + 1 }, (_, n) => [`k${n}`, '']));
    const second = String(i + 1).padStart(2, '0');
    live = update({
      live,
      updated: configMapWith(data),
      manager: `m${String(i).padStart(2, '0')}`,
      time: `2024-01-01T00:00:${second}Z`,
    });
  }
  const entries = managedFieldsOf(live);
  assert.ok(Array.isArray(entries));
  assert.equal(entries.length, 10);
  assert.deepEqual(entries[0], {
    manager: 'ancient-changes',
    operation: 'Update',
    apiVersion: 'v1',
    time: '2024-01-01T00:00:04Z',
    fieldsType: 'FieldsV1',
    fieldsV1: { 'f:data': { '.': {}, 'f:k0': {}, 'f:k1': {}, 'f:k2': {}, 'f:k3': {} } },
  });
});

test('items with the same identity are owned together', () => {
  const podWith = (...env: Json[]): JsonObject => ({
    metadata: { name: 'p' },
    spec: { containers: [{ name: 'c', env }] },
  });
  const track = (live: JsonObject | undefined, updated: JsonObject): JsonObject =>
    trackUpdate({ live, updated, schema: pod(), manager: 'm', apiVersion: 'v1', time: T1 });
  const created = track(undefined, podWith({ name: 'A', value: '1' }, { name: 'A', value: '2' }));
  const env = (object: JsonObject): string => JSON.stringify(fieldsOf(object));
  assert.match(env(created), /"f:env":\{".":\{\},"k:\{\\"name\\":\\"A\\"\}":\{\}\}/);
  const single = track(created, podWith({ name: 'A', value: '1' }));
  assert.match(env(single), /"k:\{\\"name\\":\\"A\\"\}":\{".":\{\},"f:name":\{\},"f:value":\{\}\}/);
});

test('keys like __proto__ are plain data', () => {
  const data: Json = JSON.parse('{"__proto__":"x","constructor":"y"}');
  assert.ok(typeof data === 'object' && data !== null && !Array.isArray(data));
  const created = update({ updated: configMapWith(data as JsonObject) });
  assert.equal(JSON.stringify(fieldsOf(created)), '{"f:data":{".":{},"f:__proto__":{},"f:constructor":{}}}');
});
