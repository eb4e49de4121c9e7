import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatMicroTime, parseTime } from '@holdfast/platform';
import type { Lease, Node, NodeCondition } from '../../generated/types.ts';
import { OUT_OF_SERVICE_TAINT } from '../../semantics/well-known.ts';
import { FENCED, NODE_FENCED, STORAGE_FENCED } from './fence.ts';
import {
  formatIncarnation,
  judgeIncarnation,
  NODE_INCARNATION,
  type NodeIncarnation,
  parseIncarnation,
} from './incarnation.ts';

const NOW = parseTime('2026-01-01T00:10:00Z') ?? 0;
const BOUND: NodeIncarnation = { key: 'k-1', machine: 'm-1', boot: 'b-1' };
const REBOOTED = { ...BOUND, boot: 'b-2' };
const CLONE = { ...BOUND, machine: 'm-2', boot: 'b-2' };
const TWIN: NodeIncarnation = { key: 'k-2', machine: 'm-2', boot: 'b-2' };

interface Sketch {
  readonly bound?: NodeIncarnation | undefined;
  readonly taint?: string;
  readonly fenced?: Pick<NodeCondition, 'status' | 'reason'>;
}

function nodeWith({ bound, taint, fenced }: Sketch): Node {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name: 'a',
      ...(bound === undefined ? {} : { annotations: { [NODE_INCARNATION]: formatIncarnation(bound) } }),
    },
    spec: taint === undefined ? {} : { taints: [{ key: taint, effect: 'NoExecute' }] },
    status: { conditions: fenced === undefined ? [] : [{ type: FENCED, ...fenced }] },
  } as unknown as Node;
}

const leaseOf = (agoMs: number): Lease => ({ spec: { renewTime: formatMicroTime(NOW - agoMs) } }) as unknown as Lease;

function verdict(node: Node | undefined, claimed: NodeIncarnation | undefined, leaseAgoMs?: number): string {
  const lease = leaseAgoMs === undefined ? undefined : leaseOf(leaseAgoMs);
  return judgeIncarnation({ node, lease, claimed, nowMs: NOW }).kind;
}

test('a Node that is absent or unbound admits any kubelet, also one that sends no incarnation', () => {
  for (const claimed of [undefined, TWIN]) {
    assert.equal(verdict(undefined, claimed), 'same');
    assert.equal(verdict(nodeWith({}), claimed), 'same');
  }
});

test('a restarted kubelet of the same machine and boot is admitted at once, however fresh its lease is', () => {
  assert.equal(verdict(nodeWith({ bound: BOUND }), BOUND, 0), 'same');
});

test('a twin, a clone and a kubelet without an incarnation are refused until the other machine is confirmed off', () => {
  for (const claimed of [TWIN, CLONE, undefined, { ...TWIN, machine: 'm-1' }]) {
    for (const lease of [0, 60 * 60_000, undefined]) {
      assert.equal(verdict(nodeWith({ bound: BOUND }), claimed, lease), 'refused');
    }
  }
});

test('the next boot of the same machine waits until the previous boot is silent, then continues', () => {
  assert.equal(verdict(nodeWith({ bound: BOUND }), REBOOTED, 5_000), 'refused');
  assert.equal(verdict(nodeWith({ bound: BOUND }), REBOOTED, 30_000), 'mayClaim');
  assert.equal(verdict(nodeWith({ bound: BOUND }), REBOOTED), 'mayClaim');
});

test('a lease renewed in the future by a fast clock does not block the next boot', () => {
  const table = [
    [-5_000, 'refused'],
    [-24_000, 'refused'],
    [-26_000, 'mayClaim'],
    [-60 * 60_000, 'mayClaim'],
  ] as const;
  for (const [agoMs, expected] of table) {
    assert.equal(verdict(nodeWith({ bound: BOUND }), REBOOTED, agoMs), expected, `renewed ${agoMs} ms ago`);
  }
});

test('after a user or a confirmed fence declares the machine off, another machine may claim the node', () => {
  const gone = [
    nodeWith({ bound: BOUND, taint: OUT_OF_SERVICE_TAINT }),
    nodeWith({ bound: BOUND, fenced: { status: 'True', reason: NODE_FENCED } }),
  ];
  for (const node of gone) for (const claimed of [TWIN, CLONE]) assert.equal(verdict(node, claimed, 0), 'mayClaim');
  const unsure = [
    nodeWith({ bound: BOUND, fenced: { status: 'Unknown', reason: NODE_FENCED } }),
    nodeWith({ bound: BOUND, fenced: { status: 'True', reason: STORAGE_FENCED } }),
    nodeWith({ bound: BOUND, taint: 'node.kubernetes.io/unreachable' }),
  ];
  for (const node of unsure) assert.equal(verdict(node, TWIN, 60 * 60_000), 'refused');
});

test('an invalid annotation gives no incarnation', () => {
  for (const text of [undefined, '', 'a/b', 'a/b/c/d', 'a/b/ c', `${'x'.repeat(65)}/b/c`]) {
    assert.equal(parseIncarnation(text), undefined);
  }
  assert.deepEqual(parseIncarnation(formatIncarnation(BOUND)), BOUND);
});
