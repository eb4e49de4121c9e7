import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPodInfo } from '../domain/pod-info.ts';
import { helps } from '../framework/plugin.ts';
import { buildNode, buildPod } from '../testing/builders.ts';
import { clusterOf, pluginOf } from '../testing/cluster.ts';
import { NODE_RESOURCES_FIT } from './node-resources-fit.ts';

function rig(pods: readonly Parameters<typeof buildPod>[1][]) {
  const cluster = clusterOf(
    [buildNode('a', { cpu: '4' })],
    pods.map((shape, i) => buildPod(`p${i}`, { nodeName: 'a', ...shape })),
  );
  const { wakesOn = {} } = pluginOf(NODE_RESOURCES_FIT, undefined, cluster);
  const leave = (name: string) => {
    const gone = cluster.removePod(`uid-default-${name}`);
    assert.ok(gone !== undefined);
    return (pod: ReturnType<typeof createPodInfo>) => helps(wakesOn, 'pod-removed', pod, gone);
  };
  return { cluster, leave };
}

const waiting = (cpu: string, priority = 0) => createPodInfo(buildPod('x', { cpu, spec: { priority } }));

test('a deleted pod wakes only pods that now fit on its node', () => {
  const { leave } = rig([{ cpu: '1' }, { cpu: '3' }]);
  const wakes = leave('p0');
  assert.deepEqual([wakes(waiting('1')), wakes(waiting('2'))], [true, false]);
});

test('it also wakes pods that could preempt there, unless preemption is in progress for them', () => {
  const { cluster, leave } = rig([
    { cpu: '2', spec: { priority: 9 } },
    { cpu: '2', spec: { priority: 1 } },
  ]);
  const wakes = leave('p0');
  assert.deepEqual([wakes(waiting('4', 5)), wakes(waiting('4', 1))], [true, false]);
  cluster.nominations.set(waiting('4', 5), 'b');
  assert.deepEqual([wakes(waiting('4', 5)), wakes(waiting('2', 5))], [false, true]);
  const promised = createPodInfo(buildPod('y', { cpu: '1', spec: { priority: 5 } }));
  cluster.nominations.set(promised, 'a');
  assert.deepEqual([wakes(waiting('2', 5)), wakes(waiting('1', 5)), wakes(waiting('2', 6))], [false, true, true]);
});

test('a node that grows wakes pods that fit there, and pods that could preempt there', () => {
  const cluster = clusterOf(
    [buildNode('a', { cpu: '4' })],
    [buildPod('low', { nodeName: 'a', cpu: '2', spec: { priority: 1 } })],
  );
  const { wakesOn = {} } = pluginOf(NODE_RESOURCES_FIT, undefined, cluster);
  const node = cluster.node('a');
  assert.ok(node !== undefined);
  const wakes = (kind: 'node-added' | 'node-allocatable', cpu: string, priority = 0): boolean =>
    helps(wakesOn, kind, waiting(cpu, priority), node);
  for (const kind of ['node-added', 'node-allocatable'] as const) {
    assert.deepEqual([wakes(kind, '2'), wakes(kind, '3')], [true, false], 'two cpus are free');
    assert.deepEqual([wakes(kind, '4', 5), wakes(kind, '5', 5), wakes(kind, '3', 1)], [true, false, false]);
  }
});
