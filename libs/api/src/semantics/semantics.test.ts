import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod, Taint, Toleration } from '../generated/types.ts';
import { jobEnd } from './jobs.ts';
import { isNodeReady } from './nodes.ts';
import { isMirrorPod, isPodFinished, isPodReady, isTerminating, sidecarsOf } from './pods.ts';
import { qosClassOf } from './qos.ts';
import { compileRequiredNodes } from './required-nodes.ts';
import { defaultStorageClass, isDefaultStorageClass, namesStorageClass, storageClassOf } from './storage.ts';
import { firstUntolerated, HARD_EFFECTS, tolerates } from './tolerations.ts';

const TAINT: Taint = { key: 'team', value: 'x', effect: 'NoSchedule' };

test('a toleration matches a taint by the key, value and effect that it sets', () => {
  const table: readonly [Toleration, boolean][] = [
    [{ key: 'team', value: 'x' }, true],
    [{ key: 'team', operator: 'Equal', value: 'x', effect: 'NoSchedule' }, true],
    [{ key: 'team', operator: 'Equal', value: 'y' }, false],
    [{ key: 'team', operator: 'Exists', effect: 'NoExecute' }, false],
    [{ key: 'other', operator: 'Exists' }, false],
    [{ operator: 'Exists' }, true],
    [{ operator: 'Equal', value: 'x' }, false],
    [{ key: 'team', operator: 'Like', value: 'x' }, false],
  ];
  for (const [toleration, covers] of table) {
    assert.equal(tolerates(toleration, TAINT), covers, JSON.stringify(toleration));
    assert.equal(firstUntolerated([TAINT], [toleration], HARD_EFFECTS) === undefined, covers);
  }
  assert.equal(firstUntolerated([TAINT], [], ['NoExecute']), undefined);
});

test('finished, ready, terminating and sidecar states are derived from the object alone', () => {
  for (const [phase, finished] of [
    ['Pending', false],
    ['Running', false],
    ['Succeeded', true],
    ['Failed', true],
    [undefined, false],
  ] as const) {
    assert.equal(isPodFinished({ status: phase === undefined ? {} : { phase } }), finished);
  }
  const ready = { status: { conditions: [{ type: 'Ready', status: 'True' }] } };
  assert.ok(isPodReady(ready) && isNodeReady(ready));
  assert.ok(!isPodReady({}) && !isNodeReady({ status: { conditions: [{ type: 'Ready', status: 'Unknown' }] } }));
  assert.ok(isTerminating({ metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } }));
  const always = { name: 'mesh', resources: {}, restartPolicy: 'Always' };
  const first = { name: 'first', resources: {} };
  assert.deepEqual(sidecarsOf({ initContainers: [first, always] }), [always]);
});

test('node selector and required affinity must both match', () => {
  const node = { name: 'a', labels: { disk: 'ssd', zone: 'x' } };
  assert.equal(compileRequiredNodes({ spec: {} }), undefined);
  assert.equal(compileRequiredNodes({ spec: { nodeSelector: { disk: 'ssd' } } })?.(node), true);
  assert.equal(compileRequiredNodes({ spec: { nodeSelector: { constructor: 'x' } } })?.(node), false);
  const inZone = (zone: string) => ({
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [{ key: 'zone', operator: 'In', values: [zone] }] }],
      },
    },
  });
  assert.equal(compileRequiredNodes({ spec: { nodeSelector: { disk: 'ssd' }, affinity: inZone('x') } })?.(node), true);
  assert.equal(compileRequiredNodes({ spec: { nodeSelector: { disk: 'ssd' }, affinity: inZone('y') } })?.(node), false);
});

test('annotations identify a mirror pod, a default class and the class of a claim', () => {
  assert.ok(isMirrorPod({ metadata: { annotations: { 'kubernetes.io/config.mirror': '' } } }));
  assert.ok(!isMirrorPod({ metadata: {} }));
  const old = { 'volume.beta.kubernetes.io/storage-class': 'slow' };
  const spec = { storageClassName: 'fast' };
  assert.equal(storageClassOf({ metadata: { annotations: old }, spec }), 'slow');
  assert.equal(storageClassOf({ metadata: {}, spec }), 'fast');
  assert.equal(storageClassOf({ metadata: {} }), '');
  for (const [value, isDefault] of [
    ['true', true],
    ['false', false],
  ] as const) {
    const annotations = { 'storageclass.kubernetes.io/is-default-class': value };
    assert.equal(isDefaultStorageClass({ metadata: { annotations } }), isDefault);
  }
});

test('a claim without a class gets the newest default class, of equally old ones the first by name', () => {
  const made = (name: string, creationTimestamp: string, isDefault = true) => {
    const annotations = { 'storageclass.kubernetes.io/is-default-class': String(isDefault) };
    return {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'StorageClass',
      metadata: { name, creationTimestamp, annotations },
      provisioner: 'p',
    };
  };
  const classes = [
    made('old', '2026-01-01T00:00:00Z'),
    made('b', '2026-01-02T00:00:00Z'),
    made('a', '2026-01-02T00:00:00Z'),
    made('newest', '2026-01-03T00:00:00Z', false),
  ];
  assert.equal(defaultStorageClass(classes)?.metadata.name, 'a');
  assert.equal(defaultStorageClass(classes.slice(3)), undefined);
  assert.ok(!namesStorageClass({ metadata: {}, spec: {} }));
  assert.ok(namesStorageClass({ metadata: {}, spec: { storageClassName: '' } }));
  const annotations = { 'volume.beta.kubernetes.io/storage-class': '' };
  assert.ok(namesStorageClass({ metadata: { annotations }, spec: {} }));
});

test('a Job is over by its true Complete or Failed condition', () => {
  const end = (type: string, value: string) => jobEnd({ status: { conditions: [{ type, status: value }] } })?.type;
  assert.deepEqual(
    [end('Complete', 'True'), end('Failed', 'True'), end('Failed', 'False'), end('Suspended', 'True')],
    ['Complete', 'Failed', undefined, undefined],
  );
  assert.equal(jobEnd({}), undefined);
});

test('requests of a pod that the API has not defaulted equal its limits', () => {
  const limits = { cpu: '1', memory: '1Gi' };
  const classOf = (resources: object | undefined) =>
    qosClassOf({ spec: { containers: [{ name: 'c', ...(resources && { resources }) }] } } as unknown as Pod);
  assert.equal(classOf(undefined), 'BestEffort');
  assert.equal(classOf({ limits }), 'Guaranteed');
  assert.equal(classOf({ limits: { cpu: '1' } }), 'Burstable');
  assert.equal(classOf({ limits, requests: { cpu: '0' } }), 'Burstable');
});
