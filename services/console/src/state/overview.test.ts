import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OverviewBuilder } from './overview.ts';
import { stateOf } from './pod-state.ts';
import { nodeTable, podRow, podTable } from './testing.ts';

const STATES = [
  ['Running', '1/1', 'running'],
  ['Running', '1/2', 'unready'],
  ['ContainerCreating', '0/1', 'starting'],
  ['Init:0/2', '0/1', 'starting'],
  ['CrashLoopBackOff', '0/1', 'failing'],
  ['ImagePullBackOff', '0/1', 'failing'],
  ['ErrImageNeverPull', '0/1', 'failing'],
  ['Init:Error', '0/1', 'failing'],
  ['Evicted', '0/1', 'failing'],
  ['Completed', '0/1', 'finished'],
  ['Terminating', '1/1', 'ending'],
  ['Unknown', '1/1', 'unknown'],
] as const;
for (const [status, ready, state] of STATES) {
  test(`a pod with status ${status} and ${ready} ready is ${state}`, () => {
    assert.equal(stateOf({ status, ready, isBound: true, isDeleted: false }), state);
  });
}

test('a pod without a node waits, and one that is deleted ends, whatever else it does', () => {
  assert.equal(stateOf({ status: 'Pending', ready: '0/1', isBound: false, isDeleted: false }), 'waiting');
  assert.equal(stateOf({ status: 'Running', ready: '1/1', isBound: true, isDeleted: true }), 'ending');
});

test('pods are on the cards of their nodes; those of a lost Node object stay in sight', () => {
  const nodes = nodeTable({ 'node-10': 'Ready', 'node-2': 'NotReady', 'node-3': 'Ready,SchedulingDisabled' });
  const pods = podTable([
    podRow('a', ['1/1', 'Running', 'node-2']),
    podRow('b', ['0/1', 'Pending', '<none>']),
    podRow('c', ['0/1', 'CrashLoopBackOff', 'node-10']),
    podRow('d', ['1/1', 'Running', 'node-gone']),
  ]);
  const { nodes: cards, unbound, counts, attention } = new OverviewBuilder().build(nodes, pods);
  assert.deepEqual(
    cards.map(({ name, state, pods: own }) => [name, state, own.map((pod) => pod.name).join()]),
    [
      ['node-2', 'silent', 'a'],
      ['node-3', 'closed', ''],
      ['node-10', 'ready', 'c'],
      ['node-gone', 'silent', 'd'],
    ],
  );
  assert.deepEqual(
    unbound.map(({ name }) => name),
    ['b'],
  );
  assert.deepEqual(Object.fromEntries(counts), {
    failing: 1,
    running: 2,
    waiting: 1,
  });
  assert.deepEqual(
    attention.map(({ name }) => name),
    ['c', 'b'],
    'the worst first',
  );
});

test('cards and pods that did not change are the same objects: they are not drawn again', () => {
  const builder = new OverviewBuilder();
  const nodes = nodeTable({ one: 'Ready', two: 'Ready' });
  const pods = podTable([podRow('a', ['1/1', 'Running', 'one']), podRow('b', ['1/1', 'Running', 'two'])]);
  const before = builder.build(nodes, pods);
  pods.takeEvent({ type: 'MODIFIED', object: { rows: [podRow('b', ['0/1', 'Running', 'two'])] } });
  const after = builder.build(nodes, pods);
  assert.equal(after.nodes[0], before.nodes[0]);
  assert.notEqual(after.nodes[1], before.nodes[1]);
});
