import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  decodeProtobufObject,
  encodeContent,
  encodeObject,
  itemHead,
  lendContent,
  listEnvelope,
  watchFrame,
} from './index.ts';

/** Describes bytes: hexadecimal pairs, and text in quotes. */
const spelt = (...parts: readonly string[]): string =>
  parts
    .map((part) => part.replace(/'([^']*)'/g, (_, text: string) => Buffer.from(text).toString('hex')))
    .join('')
    .replaceAll(' ', '');

const contentOf = (object: object): string => encodeContent(object)?.toString('hex') ?? 'no message';

/** An ObjectMeta with only a name. */
const named = (name: string): string => {
  const rest = '12 00 1a 00 22 00 2a 00 32 00 38 00 42 00';
  const content = spelt(`0a ${hex(name.length)} '${name}'`, rest);
  return `0a ${hex(content.length / 2)} ${content}`;
};
const hex = (value: number): string => value.toString(16).padStart(2, '0');

const NO_POD_STATUS = '1a 10 0a00 1a00 2200 2a00 3200 4a00 5a00 7200';

test('a ConfigMap: metadata is present with all its value fields, entries are sorted by key', () => {
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'm' }, data: { b: '2', a: '' } };
  assert.equal(contentOf(object), spelt(named('m'), "12 05 0a01'a' 1200", "12 06 0a01'b' 1201'2'"));
  assert.equal(contentOf({ ...object, data: undefined, immutable: false }), spelt(named('m'), '20 00'));
  assert.equal(
    encodeObject({ ...object, data: {} })?.toString('hex'),
    spelt("'k8s' 00", "0a 0f 0a02'v1' 1209'ConfigMap'", '12 13', named('m'), '1a 00 22 00'),
  );
});

test('bytes stay bytes, a negative number takes ten of them, a double eight', () => {
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'm' }, data: { k: 'dmFsdWU=' } };
  assert.equal(contentOf(secret), spelt(named('m'), "12 0a 0a01'k' 1205'value'", '1a 00'));
  const low = { apiVersion: 'scheduling.k8s.io/v1', kind: 'PriorityClass', metadata: { name: 'm' }, value: -5 };
  assert.equal(contentOf(low), spelt(named('m'), '10 fbffffffffffffffff01', '18 00', '22 00'));
  const large = { ...low, value: 1_000_000_000 };
  assert.equal(contentOf(large), spelt(named('m'), '10 8094ebdc03', '18 00', '22 00'));
});

test('a Lease: times with and without a fraction, numbers behind pointers', () => {
  const lease = {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name: 'm', creationTimestamp: '2023-11-14T22:13:20Z' },
    spec: { leaseDurationSeconds: 0, renewTime: '2023-11-14T22:13:20.000005Z' },
  };
  const seconds = '08 80e2cfaa06';
  assert.equal(
    contentOf(lease),
    spelt(`0a 19 0a01'm' 1200 1a00 2200 2a00 3200 3800 42 08 ${seconds} 10 00`, `12 0d 10 00 22 09 ${seconds} 10 8827`),
  );
});

test('a claim: quantities are text, and value fields are present although unset', () => {
  const claim = {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'm' },
    spec: { accessModes: ['ReadWriteOnce'], storageClassName: '', resources: { requests: { storage: '1Gi' } } },
  };
  const requests = "12 12 12 10 0a07'storage' 1205 0a03'1Gi'";
  assert.equal(contentOf(claim), spelt(named('m'), `12 27 0a0d'ReadWriteOnce' ${requests} 1a00 2a00`, '1a 02 0a00'));
});

test('a Pod: repeated lists, embedded structs as nested messages, int-or-string with all its fields', () => {
  const probe = { httpGet: { port: 80 }, periodSeconds: 300 };
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'm' },
    spec: { containers: [{ name: 'c', command: ['a', 'b'], livenessProbe: probe }] },
  };
  const httpGet = '12 0e 0a00 12 06 0800 1050 1a00 1a00 2200';
  const written = `0a 10 ${httpGet} 10 00 18 00 20 ac02 28 00 30 00`;
  const container = `0a01'c' 1200 1a01'a' 1a01'b' 2a00 4200 52 1d ${written} 6a00 7200 800100 880100 900100 a20100`;
  const content = Buffer.from(contentOf(pod), 'hex');
  assert.ok(content.toString('hex').includes(spelt(container)), content.toString('hex'));
  assert.ok(content.toString('hex').startsWith(spelt(named('m'), '12')));
  assert.ok(content.toString('hex').endsWith(spelt(NO_POD_STATUS)), content.toString('hex'));
});

test('a Status keeps its details, and a list its items', () => {
  const status = {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: 'x',
    reason: 'NotFound',
    details: { name: 'a', kind: 'pods', causes: [{ field: 'f' }] },
    code: 404,
  };
  const noMetadata = '0a 06 0a00 1200 1a00';
  const details = "2a 18 0a01'a' 1200 1a04'pods' 22 07 0a00 1200 1a01'f' 2800 3200";
  assert.equal(contentOf(status), spelt(noMetadata, "1207'Failure' 1a01'x' 2208'NotFound'", details, '30 9403'));
  const { metadata: _, ...decoded } = status;
  assert.deepEqual(decodeProtobufObject(encodeObject(status) ?? Buffer.alloc(0)), decoded);
});

test('a list built from encoded items equals a list encoded at once', () => {
  const sizes = [0, 10, 100, 200, 16_000, 17_000, 2_090_000, 2_100_000];
  const items = sizes.map((size) => ({ metadata: { name: 'a' }, data: { key: 'x'.repeat(size) } }));
  const list = { apiVersion: 'v1', kind: 'ConfigMapList', metadata: { resourceVersion: '7' }, items };
  const parts = items.flatMap((item) => {
    const content = encodeContent({ apiVersion: 'v1', kind: 'ConfigMap', ...item }) ?? Buffer.alloc(0);
    return [itemHead(content.length), content];
  });
  const { head, tail } = listEnvelope(list, list.metadata, Buffer.concat(parts).length);
  assert.ok(encodeObject(list)?.equals(Buffer.concat([head, ...parts, tail])));
});

test('a watch frame: length in four bytes, type, and the object in its envelope', () => {
  assert.equal(
    watchFrame('ADDED', Buffer.from('object')).toString('hex'),
    spelt('00000011', "0a05'ADDED'", "12 08 0a06'object'"),
  );
});

test('schemas of custom kinds: schema or array, schema or boolean, arbitrary JSON', () => {
  const openAPIV3Schema = {
    type: 'object',
    default: { a: null },
    items: [{ type: 'string' }, {}],
    additionalProperties: false,
    additionalItems: { type: 'string' },
    dependencies: { a: ['b', 'c'], d: { type: 'string' } },
    properties: { e: { items: { maximum: 1.5 }, additionalProperties: true, enum: [1, 'x', null, { y: [] }] } },
  };
  const spec = {
    group: 'example.com',
    names: { plural: 'as', kind: 'A' },
    scope: 'Cluster',
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema } }],
  };
  const type = { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' };
  const decoded = decodeProtobufObject(encodeObject({ ...type, spec }) ?? Buffer.alloc(0));
  assert.deepEqual(decoded['spec'], spec);
});

test('durations and usage of metrics keep their text', () => {
  for (const window of ['30s', '1h30m0s', '1.5s', '0s']) {
    const metrics = {
      apiVersion: 'metrics.k8s.io/v1beta1',
      kind: 'NodeMetrics',
      metadata: { name: 'm' },
      timestamp: '2023-11-14T22:13:20Z',
      window,
      usage: { cpu: '12345n', memory: '1Ki' },
    };
    assert.deepEqual(decodeProtobufObject(encodeObject(metrics) ?? Buffer.alloc(0)), metrics);
  }
});

test('objects without a message have no encoding: tables, unknown kinds, names from the prototype', () => {
  for (const kind of ['Table', 'Widget', 'constructor']) {
    assert.equal(encodeObject({ apiVersion: 'meta.k8s.io/v1', kind }), undefined);
  }
  assert.equal(encodeObject({ kind: 'Pod' }), undefined);
});

test('a cached encoding holds no more memory than its bytes', () => {
  const content = encodeContent({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'm' }, data: { a: 'b' } });
  assert.equal(content?.buffer.byteLength, content?.length);
  assert.ok(content !== undefined && content.length > 0);
});

test('lent bytes stay those of the content, also after larger ones and after a failure', () => {
  const map = (text: unknown): object => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'm' },
    data: { k: text },
  });
  const failing = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    get metadata(): never {
      throw new Error('no');
    },
    data: { k: 'x' },
  };
  for (const object of [map('a'), map('b'.repeat(300_000)), map('c')]) {
    assert.deepEqual(lendContent(object), encodeContent(object));
    assert.throws(() => lendContent(failing), /no/);
  }
  assert.equal(lendContent({ apiVersion: 'v1', kind: 'Nothing' }), undefined);
});
