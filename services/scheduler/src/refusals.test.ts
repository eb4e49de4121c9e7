import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodeOf, rig } from './testing/rig.ts';

test('a waiting pod has the reason of each node, until it waits no more', async () => {
  const { clock, schedulers, addNode, addPod, pod, stop } = await rig();
  const placement = (name: string) => schedulers[0]?.placementOf('default', name);
  addNode('n1', { cpu: '1' });
  addNode('n2', { unschedulable: true });
  await clock.advance(10);
  addPod('a', { cpu: '2' });
  addPod('gated', { spec: { schedulingGates: [{ name: 'later' }] } });
  await clock.advance(1_000);
  const report = placement('a');
  assert.deepEqual(
    [report?.pod.name, report?.nodesTotal, report?.nodes, report?.rest],
    [
      'a',
      2,
      [
        { node: 'n1', plugin: 'NodeResourcesFit', reasons: ['Insufficient cpu'] },
        { node: 'n2', plugin: 'NodeUnschedulable', reasons: ['node(s) were unschedulable'] },
      ],
      [],
    ],
  );
  assert.equal(report?.message, pod('a')?.status.conditions?.[0]?.message);
  assert.equal(placement('gated'), undefined, 'it was not tried');
  assert.equal(schedulers[0]?.placementOf('other', 'a'), undefined);
  addNode('n3');
  await clock.advance(15_000);
  assert.equal(nodeOf(pod('a')), 'n3');
  assert.equal(placement('a'), undefined);
  await stop();
});
