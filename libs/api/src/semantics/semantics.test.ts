import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Taint, Toleration } from '../generated/types.ts';
import { isNodeReady } from './nodes.ts';
import { isPodFinished, isPodReady, isTerminating, sidecarsOf } from './pods.ts';
import { compileRequiredNodes } from './required-nodes.ts';
import { firstUntolerated, HARD_EFFECTS, tolerates } from './tolerations.ts';

const TAINT: Taint = { key: 'team', value: 'x', effect: 'NoSchedule' };

test('a toleration covers a taint by key, value and effect as far as it names them', () => {
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

test('finished, ready, terminating and sidecars are read from the object alone', () => {
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

test('node selector and required affinity have to hold together', () => {
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
