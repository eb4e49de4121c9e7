import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from '@holdfast/api';
import { type DeletionWish, deleteRequest, outcomeOf, risksOf } from './deletion.ts';

const PLAIN: DeletionWish = { gracePeriodSeconds: undefined, force: false };
const FORCED: readonly DeletionWish[] = [
  { ...PLAIN, gracePeriodSeconds: 0 },
  { ...PLAIN, force: true },
  { ...PLAIN, force: true, gracePeriodSeconds: 0 },
];

const object = (kind: string, extra: object = {}, metadata: object = {}): KubeObject => ({
  apiVersion: 'v1',
  kind,
  metadata: { name: 'foo', namespace: 'default', uid: 'u1', ...metadata },
  ...extra,
});
const POD = object('Pod', { spec: { nodeName: 'node-1' } });

test('[EXS-30] [UI-01] every form of force deletion of a pod warns that nothing waits for its end, and where it may still run', () => {
  for (const wish of FORCED) {
    const [risk = '', ...more] = risksOf(wish, POD);
    assert.match(risk, /does not wait for pod "foo" to terminate.*stopped asynchronously.*node-1.*two instances/);
    assert.deepEqual(more, []);
    assert.deepEqual(deleteRequest(wish, POD), { gracePeriodSeconds: 0, uid: 'u1' });
  }
});

test('[UI-01] a grace period above 0, and none, is no risk and never becomes 0', () => {
  for (const seconds of [undefined, 1, 600]) {
    const wish = { ...PLAIN, gracePeriodSeconds: seconds };
    assert.deepEqual(risksOf(wish, POD), []);
    assert.equal(deleteRequest(wish, POD).gracePeriodSeconds, seconds);
  }
});

test('--force with a grace period above 0 is refused', () => {
  assert.throws(() => risksOf({ force: true, gracePeriodSeconds: 5 }, POD), /exclude each other/);
});

test('[UI-01] force deletion of other kinds warns as well, and deleting a Node always does', () => {
  assert.match(risksOf({ ...PLAIN, force: true }, object('Pod')).join(), /it has no node, so nothing of it runs$/);
  assert.match(risksOf({ ...PLAIN, force: true }, object('ConfigMap')).join(), /removes configmap "foo" at once/);
  assert.match(risksOf(PLAIN, object('Node')).join(), /gone for good.*two instances/);
  assert.deepEqual(risksOf(PLAIN, object('ConfigMap')), []);
});

test('[UI-01] [UI-03] a pod with grace period 0 is not removed without a warning, unless it has finished or a grace period is given', () => {
  const pod = (phase: string, nodeName: string) =>
    object('Pod', { spec: { nodeName, terminationGracePeriodSeconds: 0 }, status: { phase } });
  assert.match(risksOf(PLAIN, pod('Running', 'node-1')).join(), /grants its processes no time.*does not wait for pod/);
  assert.deepEqual(risksOf({ ...PLAIN, gracePeriodSeconds: 1 }, pod('Running', 'node-1')), []);
  for (const [phase, node] of [
    ['Succeeded', 'node-1'],
    ['Failed', 'node-1'],
    ['Pending', ''],
  ] as const) {
    assert.deepEqual(risksOf(PLAIN, pod(phase, node)), []);
  }
});

test('the message after a deletion matches the state of the object', () => {
  const ending = { deletionTimestamp: '2026-11-21T00:00:00Z', deletionGracePeriodSeconds: 30 };
  const cases: readonly (readonly [DeletionWish, KubeObject | undefined, RegExp])[] = [
    [PLAIN, undefined, /^pod "foo" deleted$/],
    [{ ...PLAIN, force: true }, undefined, /^pod "foo" force deleted$/],
    [PLAIN, object('Pod', {}, { uid: 'u2' }), /^pod "foo" deleted$/],
    [PLAIN, object('Pod', { spec: { nodeName: 'n' } }, ending), /within 30 s; node n removes it/],
    [PLAIN, object('Pod', {}, { ...ending, finalizers: ['a/b'] }), /its finalizers hold it: a\/b/],
  ];
  for (const [wish, after, says] of cases) assert.match(outcomeOf(wish, POD, after), says);
});
