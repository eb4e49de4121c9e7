import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Json } from '@holdfast/machinery';
import { mirrorIsStale, mirrorOf, readStaticPod, StaticPodError, terminating } from './static-pod.ts';

const file = (spec: Record<string, Json> = {}, metadata: Record<string, Json> = { name: 'web' }): Json => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata,
  spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
});
const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1', uid: 'node-uid' } };

test('[POD-32] [POD-33] a file becomes a pod of its node, and its mirror names its source', () => {
  const pod = readStaticPod(file(), 'n1', 0);
  const { name, namespace, uid, annotations = {} } = pod.metadata;
  assert.deepEqual([name, namespace, pod.spec.nodeName], ['web-n1', 'default', 'n1']);
  assert.equal(annotations['kubernetes.io/config.source'], 'file');
  assert.equal(annotations['kubernetes.io/config.hash'], uid);
  assert.deepEqual(pod.spec.tolerations, [{ operator: 'Exists', effect: 'NoExecute' }]);
  assert.equal(pod.spec.terminationGracePeriodSeconds, 30, 'defaults are those of the API');
  const mirror = mirrorOf(pod, node);
  assert.equal(mirror.metadata.annotations?.['kubernetes.io/config.mirror'], uid);
  assert.deepEqual(mirror.metadata.ownerReferences, [
    { apiVersion: 'v1', kind: 'Node', name: 'n1', uid: 'node-uid', controller: true },
  ]);
  assert.ok(!mirrorIsStale(mirror, pod));
});

test('[POD-32] the same file is the same pod; a changed one, or one of another node, is a different pod', () => {
  const uidOf = (document: Json, name = 'n1') => readStaticPod(document, name, 0).metadata.uid;
  assert.equal(uidOf(file()), uidOf(file()));
  assert.notEqual(uidOf(file()), uidOf(file({ restartPolicy: 'Never' })));
  assert.notEqual(uidOf(file()), uidOf(file(), 'n2'));
});

test('[POD-32] a static pod that needs the API, and a file that is not a pod, are refused', () => {
  const refusals: readonly [Json, RegExp][] = [
    [file({ serviceAccountName: 'robot' }), /may not reference serviceaccounts/],
    [file({ volumes: [{ name: 'v', configMap: { name: 'x' } }] }), /may not reference configmaps/],
    [file({ containers: [{ name: 'c', image: 'i', envFrom: [{ secretRef: { name: 's' } }] }] }), /reference secrets/],
    [file({}, {}), /metadata\.name is missing/],
    [file({ containers: [] }), /spec\.containers/],
    [file({ containers: 'none' }), /cannot unmarshal/],
    [{ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'x' } }, /not a v1 Pod|unknown/],
    [null, /cannot unmarshal/],
  ];
  for (const [document, expected] of refusals)
    assert.throws(
      () => readStaticPod(document, 'n1', 0),
      (error) => error instanceof StaticPodError && expected.test(error.message),
      JSON.stringify(document),
    );
});

test('[POD-34] a mirror that is terminating, outdated, or absent must be recreated', () => {
  const pod = readStaticPod(file(), 'n1', 0);
  const mirror = mirrorOf(pod, node);
  assert.ok(mirrorIsStale(mirror, undefined));
  assert.ok(mirrorIsStale(mirror, readStaticPod(file({ restartPolicy: 'Never' }), 'n1', 0)));
  assert.ok(mirrorIsStale({ ...mirror, metadata: { ...mirror.metadata, deletionTimestamp: 'x' } }, pod));
});

test('[POD-32] a pod whose file is gone terminates with its grace period', () => {
  const pod = readStaticPod(file({ terminationGracePeriodSeconds: 12 }), 'n1', 0);
  const ending = terminating(pod, 0);
  assert.equal(ending.metadata.deletionGracePeriodSeconds, 12);
  assert.equal(ending.metadata.deletionTimestamp, '1970-01-01T00:00:12Z');
  assert.equal(terminating(ending, 5_000), ending);
});
