import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod, PodSpec } from '@holdfast/api';
import { nodeOf, nominatedRig, podPath, type Rig, rig, slowDeletions } from './testing/rig.ts';

test('[PREEMPT-14] a more important pod that arrives when the room is free takes it, and the nomination is cleared', async () => {
  const { clock, api, addPod, pod, stop } = await nominatedRig();
  addPod('h', { cpu: '2', spec: { priority: 200 } });
  api.remove(podPath('low'));
  await clock.advance(20_000);
  assert.deepEqual([nodeOf(pod('h')), nodeOf(pod('p'))], ['n1', undefined]);
  assert.equal(pod('p')?.status.nominatedNodeName ?? null, null);
  await stop();
});

const on = (name: string): Partial<PodSpec> => ({ nodeSelector: { 'kubernetes.io/hostname': name } });
const GATED: Partial<PodSpec> = { schedulingGates: [{ name: 'later' }] };

/** The pod `p` has the room of `n1`, which only pod `q` wants; it is gated and can run on `n2` alone. */
async function promisedRig(): Promise<Rig> {
  const running = await rig();
  const { clock, addNode, addPod, pod } = running;
  for (const name of ['n1', 'n2']) addNode(name, { cpu: '2' });
  addPod('p', { cpu: '2', spec: { priority: 100, ...on('n2'), ...GATED } });
  nominate(running, 'n1');
  await clock.advance(10);
  addPod('q', { cpu: '2', spec: on('n1') });
  await clock.advance(10_000);
  assert.equal(nodeOf(pod('q')), undefined, 'the room is promised');
  return running;
}

function change({ api, pod }: Rig, changed: (pod: Pod) => Pod): void {
  api.put(podPath('p'), changed(pod('p') ?? assert.fail()));
}

const nominate = (running: Rig, nominatedNodeName: string): void =>
  change(running, (pod) => ({ ...pod, status: { ...pod.status, nominatedNodeName } }));
const ungate = (running: Rig, spec: Partial<PodSpec> = {}): void =>
  change(running, (pod) => ({ ...pod, spec: { ...pod.spec, schedulingGates: [], ...spec } }));

for (const [title, release, expected] of [
  ['is taken back by another program', (running) => nominate(running, ''), undefined],
  ['is moved by another program', (running) => nominate(running, 'n2'), undefined],
  ['is not used by its pod', (running) => ungate(running), 'n2'],
  [
    'is moved by a preemption',
    (running) => {
      slowDeletions(running);
      running.addPod('low', { cpu: '2', nodeName: 'n2' });
      ungate(running);
    },
    undefined,
  ],
  [
    'is taken back from a pod that fits nowhere',
    (running) => {
      running.addPod('high', { cpu: '2', nodeName: 'n2', spec: { priority: 200 } });
      ungate(running);
    },
    undefined,
  ],
  ['is not used by its pod, which another scheduler binds', (running) => ungate(running, { nodeName: 'n2' }), 'n2'],
] as const satisfies readonly (readonly [string, (running: Rig) => void, string | undefined])[]) {
  test(`a promise that ${title} frees the room for waiting pods`, async () => {
    const running = await promisedRig();
    const { clock, pod, stop } = running;
    release(running);
    await clock.advance(15_000);
    assert.deepEqual([nodeOf(pod('q')), nodeOf(pod('p'))], ['n1', expected]);
    await stop();
  });
}
