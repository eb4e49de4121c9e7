import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodeOf, podPath, rig, slowDeletions } from './testing/rig.ts';

test('[PREEMPT-14] a more important pod that comes when the room is free takes it, and the nomination is taken back', async () => {
  const { clock, api, addNode, addPod, pod, stop } = await rig();
  addNode('n1', { cpu: '2' });
  addPod('low', { cpu: '2' });
  await clock.advance(1_000);
  slowDeletions({ api, pod });
  addPod('p', { cpu: '2', spec: { priority: 100 } });
  await clock.advance(2_000);
  assert.equal(pod('p')?.status.nominatedNodeName, 'n1');
  addPod('h', { cpu: '2', spec: { priority: 200 } });
  api.remove(podPath('low'));
  await clock.advance(20_000);
  assert.deepEqual([nodeOf(pod('h')), nodeOf(pod('p'))], ['n1', undefined]);
  assert.equal(pod('p')?.status.nominatedNodeName ?? null, null);
  await stop();
});
