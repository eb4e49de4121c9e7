import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodeOf, nominatedRig, podPath } from './testing/rig.ts';

test('[PREEMPT-14] a more important pod that arrives when the room is free takes it, and the nomination is cleared', async () => {
  const { clock, api, addPod, pod, stop } = await nominatedRig();
  addPod('h', { cpu: '2', spec: { priority: 200 } });
  api.remove(podPath('low'));
  await clock.advance(20_000);
  assert.deepEqual([nodeOf(pod('h')), nodeOf(pod('p'))], ['n1', undefined]);
  assert.equal(pod('p')?.status.nominatedNodeName ?? null, null);
  await stop();
});
