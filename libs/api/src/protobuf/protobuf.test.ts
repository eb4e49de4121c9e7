import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeProtobufObject, WireError } from './index.ts';

type Part = number[];
const varint = (value: bigint): Part =>
  value < 128n ? [Number(value)] : [Number(value & 127n) | 128, ...varint(value >> 7n)];
const integer = (field: number, value: number | bigint): Part => [
  ...varint(BigInt(field * 8)),
  ...varint(BigInt.asUintN(64, BigInt(value))),
];
const bytes = (field: number, content: Part): Part => [
  ...varint(BigInt(field * 8 + 2)),
  ...varint(BigInt(content.length)),
  ...content,
];
const string = (field: number, value: string): Part => bytes(field, [...new TextEncoder().encode(value)]);
const message = (field: number, ...parts: Part[]): Part => bytes(field, parts.flat());

const envelope = (apiVersion: string, kind: string, ...parts: Part[]): Uint8Array =>
  Uint8Array.from([
    0x6b,
    0x38,
    0x73,
    0,
    ...message(1, string(1, apiVersion), string(2, kind)),
    ...message(2, ...parts),
    ...string(3, ''),
  ]);

test('a Deployment as a Go client sends it: empty strings of value fields are dropped, pointers keep zero values', () => {
  const container = message(
    2,
    string(1, 'busybox'),
    string(2, 'busybox'),
    string(3, 'sleep'),
    string(3, '3600'),
    string(5, ''),
  );
  const template = message(
    3,
    message(1, string(1, ''), message(11, string(1, 'app'), string(2, 'web'))),
    message(2, container),
  );
  const body = envelope(
    'apps/v1',
    'Deployment',
    message(1, string(1, 'web'), string(2, ''), message(8), integer(7, 0)),
    message(
      2,
      integer(1, 0),
      message(2, message(1, string(1, 'app'), string(2, 'web'))),
      template,
      message(4),
      integer(5, 0),
    ),
    message(3, integer(1, 0)),
  );
  assert.deepEqual(decodeProtobufObject(body), {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web' },
    spec: {
      replicas: 0,
      selector: { matchLabels: { app: 'web' } },
      template: {
        metadata: { labels: { app: 'web' } },
        spec: { containers: [{ name: 'busybox', image: 'busybox', command: ['sleep', '3600'] }] },
      },
    },
  });
});

test('fields of embedded structs move to the parent, bytes become base64, an empty pointer is kept', () => {
  const volume = message(1, string(1, 'scratch'), message(2, message(2)));
  const pod = decodeProtobufObject(envelope('v1', 'Pod', message(2, volume)));
  assert.deepEqual(pod['spec'], { volumes: [{ name: 'scratch', emptyDir: {} }] });
  const secret = decodeProtobufObject(envelope('v1', 'Secret', message(2, string(1, 'key'), string(2, 'value'))));
  assert.deepEqual(secret['data'], { key: 'dmFsdWU=' });
});

test('times, quantities and numbers-or-strings have their JSON forms', () => {
  const lease = decodeProtobufObject(
    envelope(
      'coordination.k8s.io/v1',
      'Lease',
      message(2, string(1, 'me'), integer(2, 40), message(4, integer(1, 1_700_000_000), integer(2, 5_000))),
    ),
  );
  assert.deepEqual(lease['spec'], {
    holderIdentity: 'me',
    leaseDurationSeconds: 40,
    renewTime: '2023-11-14T22:13:20.000005Z',
  });
  const requests = message(8, message(2, string(1, 'cpu'), message(2, string(1, '100m'))));
  const pod = decodeProtobufObject(envelope('v1', 'Pod', message(2, message(2, string(1, 'c'), requests))));
  assert.deepEqual(pod['spec'], { containers: [{ name: 'c', resources: { requests: { cpu: '100m' } } }] });
  const service = decodeProtobufObject(
    envelope('v1', 'Service', message(2, message(1, integer(3, 80), message(4, integer(1, 1), string(3, 'http'))))),
  );
  assert.deepEqual(service['spec'], { ports: [{ port: 80, targetPort: 'http' }] });
});

test('a quantity without text is zero', () => {
  const hard = [message(2), message(2, string(1, ''))].map((none, i) => message(1, string(1, `k${i}`), none));
  const quota = decodeProtobufObject(envelope('v1', 'ResourceQuota', message(2, ...hard)));
  assert.deepEqual(quota['spec'], { hard: { k0: '0', k1: '0' } });
});

test('negative integers are decoded as negative', () => {
  const body = envelope('scheduling.k8s.io/v1', 'PriorityClass', integer(2, -5));
  assert.equal(decodeProtobufObject(body)['value'], -5);
});

test('the smallest and largest int64 stay int64 in JSON too', () => {
  for (const end of [2n ** 63n - 1n, -(2n ** 63n)]) {
    const { gracePeriodSeconds } = decodeProtobufObject(envelope('v1', 'DeleteOptions', integer(1, end)));
    const written = BigInt(JSON.stringify(gracePeriodSeconds));
    assert.equal(BigInt.asIntN(64, written), written);
    assert.equal(written < 0n, end < 0n);
  }
});

test('DeleteOptions are recognized in any group', () => {
  const body = envelope('v1', 'DeleteOptions', integer(1, 0), string(4, 'Background'));
  assert.deepEqual(decodeProtobufObject(body), {
    apiVersion: 'v1',
    kind: 'DeleteOptions',
    gracePeriodSeconds: 0,
    propagationPolicy: 'Background',
  });
});

test('a key named __proto__ is plain data', () => {
  const data = message(2, string(1, '__proto__'), string(2, 'polluted'));
  const decoded = decodeProtobufObject(envelope('v1', 'ConfigMap', data));
  assert.equal(Object.getPrototypeOf(decoded['data']), Object.prototype);
  assert.deepEqual(Object.keys(decoded['data'] as object), ['__proto__']);
});

/** A message with an invalid string. */
const noText = (field: number): Part => message(field, bytes(1, [0xff]));

const BAD: readonly { title: string; body: Uint8Array; says: RegExp }[] = [
  { title: 'JSON', body: new TextEncoder().encode('{"kind":"Pod"}'), says: /does not appear to be a protobuf message/ },
  { title: 'nothing', body: new Uint8Array(), says: /does not appear to be a protobuf message/ },
  {
    title: 'a cut-off body',
    body: envelope('v1', 'Pod', message(1, string(1, 'web'))).subarray(0, 20),
    says: /unexpected EOF/,
  },
  {
    title: 'an unknown kind',
    body: envelope('v1', 'Nonsense'),
    says: /no kind "Nonsense" is registered for version "v1"/,
  },
  { title: 'a kind from the prototype', body: envelope('v1', 'constructor'), says: /no kind "constructor"/ },
  {
    title: 'a string where a number belongs',
    body: envelope('apps/v1', 'Deployment', message(2, string(1, 'x'))),
    says: /wrong wireType/,
  },
  ...[
    { title: 'a quantity', body: envelope('v1', 'ResourceQuota', message(2, message(1, string(1, 'cpu'), noText(2)))) },
    {
      title: 'a port',
      body: envelope('v1', 'Service', message(2, message(1, message(4, integer(1, 1), bytes(3, [0xff]))))),
    },
    { title: 'raw JSON', body: envelope('apps/v1', 'ControllerRevision', noText(2)) },
    { title: 'a name', body: envelope('v1', 'Pod', noText(1)) },
  ].map(({ title, body }) => ({ title: `${title} that is no UTF-8`, body, says: /a string is not UTF-8/ })),
  ...[
    { title: 'a time after the year 9999', time: [integer(1, 253_402_300_800)] },
    { title: 'a time that no calendar has', time: [integer(1, Number.MAX_SAFE_INTEGER)] },
    { title: 'a time with a fraction of more than a second', time: [integer(1, 1), integer(2, 1_000_000_000)] },
  ].map(({ title, time }) => ({
    title,
    body: envelope('coordination.k8s.io/v1', 'Lease', message(2, message(4, ...time))),
    says: /a timestamp cannot be written as JSON/,
  })),
  {
    title: 'an endless varint',
    body: Uint8Array.from([0x6b, 0x38, 0x73, 0, ...Array.from({ length: 20 }, () => 0xff)]),
    says: /overflow/,
  },
];

for (const { title, body, says } of BAD) {
  test(`${title} is refused with a reason`, () => {
    assert.throws(
      () => decodeProtobufObject(body),
      (error: unknown) => error instanceof WireError && says.test(error.message),
    );
  });
}
