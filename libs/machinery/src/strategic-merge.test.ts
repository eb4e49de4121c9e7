import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { deepFreeze } from './deep.ts';
import type { JsonObject } from './json.ts';
import { applyStrategicMergePatch } from './strategic-merge.ts';
import { configMap, deployment, pod } from './testing-schemas.ts';

const podWith = (...containers: JsonObject[]): JsonObject => deepFreeze({ spec: { containers } });
const patchPod = (live: JsonObject, spec: JsonObject): unknown => {
  const result = applyStrategicMergePatch(live, deepFreeze({ spec }), pod());
  return (result['spec'] as JsonObject)['containers'];
};

test('merge lists merge by key; new items come first, the others keep their order', () => {
  const live = podWith({ name: 'a', image: '1' }, { name: 'b', image: '1' });
  assert.deepEqual(patchPod(live, { containers: [{ name: 'b', image: '2' }] }), [
    { name: 'a', image: '1' },
    { name: 'b', image: '2' },
  ]);
  assert.deepEqual(patchPod(live, { containers: [{ name: 'c', image: '3', args: null }] }), [
    { name: 'c', image: '3' },
    { name: 'a', image: '1' },
    { name: 'b', image: '1' },
  ]);
});

test('$patch deletes and replaces', () => {
  const live = podWith({ name: 'a', image: '1' }, { name: 'b', image: '1' });
  assert.deepEqual(
    patchPod(live, {
      containers: [
        { name: 'a', $patch: 'delete' },
        { name: 'o', image: 'o' },
      ],
    }),
    [
      { name: 'o', image: 'o' },
      { name: 'b', image: '1' },
    ],
  );
  assert.deepEqual(patchPod(live, { containers: [{ $patch: 'replace' }, { name: 'only', image: 'z' }] }), [
    { name: 'only', image: 'z' },
  ]);
  const patched = applyStrategicMergePatch(
    { metadata: { labels: { a: '1' } } },
    { metadata: { labels: { $patch: 'replace', b: '2' } } },
    pod(),
  );
  assert.deepEqual(patched, { metadata: { labels: { b: '2' } } });
});

test('$setElementOrder orders the items, with live-only items in between', () => {
  const live = podWith({ name: 'a' }, { name: 'server' }, { name: 'b' });
  const patch = {
    '$setElementOrder/containers': [{ name: 'b' }, { name: 'n' }, { name: 'a' }],
    containers: [{ name: 'n', image: 'n' }],
  };
  assert.deepEqual(patchPod(live, patch), [
    { name: 'server' },
    { name: 'b' },
    { name: 'n', image: 'n' },
    { name: 'a' },
  ]);
  assert.deepEqual(patchPod(live, { '$setElementOrder/containers': [{ name: 'b' }, { name: 'a' }] }), [
    { name: 'server' },
    { name: 'b' },
    { name: 'a' },
  ]);
  assert.throws(
    () => patchPod(live, { '$setElementOrder/containers': [{ name: 'b' }], containers: [{ name: 'x' }] }),
    /The order in patch list/,
  );
});

test('primitive sets merge and $deleteFromPrimitiveList removes items', () => {
  const live = { metadata: { finalizers: ['a', 'b'] } };
  const patch = (metadata: JsonObject): unknown => applyStrategicMergePatch(live, { metadata }, pod())['metadata'];
  assert.deepEqual(patch({ finalizers: ['c', 'a'] }), { finalizers: ['c', 'a', 'b'] });
  assert.deepEqual(patch({ '$deleteFromPrimitiveList/finalizers': ['a'] }), { finalizers: ['b'] });
  assert.deepEqual(patch({ '$setElementOrder/finalizers': ['b', 'a'] }), { finalizers: ['b', 'a'] });
});

test('$retainKeys drops the fields that it does not name', () => {
  const live = { spec: { strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1 } } } };
  const patch = { spec: { strategy: { $retainKeys: ['type'], type: 'Recreate', rollingUpdate: null } } };
  assert.deepEqual(applyStrategicMergePatch(live, patch, deployment()), { spec: { strategy: { type: 'Recreate' } } });
  const wrong = { spec: { strategy: { $retainKeys: ['type'], type: 'Recreate', rollingUpdate: {} } } };
  assert.throws(() => applyStrategicMergePatch(live, wrong, deployment()), {
    message: 'invalid patch format of retainKeys',
  });
});

test('invalid patches are refused with the messages of Kubernetes', () => {
  const live = podWith({ name: 'a' });
  assert.throws(() => patchPod(live, { containers: [{ image: 'x' }] }), {
    message: 'map: map[image:x] does not contain declared merge key: name',
  });
  assert.throws(() => patchPod(live, { containers: [{ name: 'a', $patch: 'bogus' }] }), {
    message: 'unknown patch type: bogus in map: map[$patch:bogus name:a]',
  });
  assert.throws(() => applyStrategicMergePatch(live, { $patch: 'x' }, pod()), {
    message: 'unknown patch type: x in map: map[$patch:x]',
  });
});

test('atomic lists are replaced, maps merge, nulls remove', () => {
  const live = podWith({ name: 'a', args: ['1', '2'] });
  assert.deepEqual(patchPod(live, { containers: [{ name: 'a', args: ['3'] }] }), [{ name: 'a', args: ['3'] }]);
  assert.deepEqual(applyStrategicMergePatch({ data: { a: '1', b: '2' } }, { data: { a: null, c: '3' } }, configMap()), {
    data: { b: '2', c: '3' },
  });
  assert.deepEqual(applyStrategicMergePatch({}, { data: { a: null, c: '3' } }, configMap()), { data: { c: '3' } });
});

test('a strategic patch is idempotent and pollutes nothing', () => {
  const name = fc.constantFrom('a', 'b', 'c', 'd');
  const containers = fc.uniqueArray(fc.record({ name, image: fc.string() }), { selector: (c) => c.name });
  fc.assert(
    fc.property(containers, containers, (live, patch) => {
      const once = applyStrategicMergePatch(podWith(...live), { spec: { containers: patch } }, pod());
      assert.deepEqual(applyStrategicMergePatch(once, { spec: { containers: patch } }, pod()), once);
      const names = patchPod(podWith(...live), { containers: patch }) as JsonObject[];
      assert.equal(new Set(names.map((c) => c['name'])).size, new Set([...live, ...patch].map((c) => c.name)).size);
    }),
  );
  const hostile = JSON.parse('{"metadata":{"labels":{"__proto__":"x","constructor":"y"}}}');
  const patched = applyStrategicMergePatch({ metadata: { labels: {} } }, hostile, pod());
  assert.equal(JSON.stringify(patched), JSON.stringify(hostile));
});
