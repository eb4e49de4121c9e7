import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodeOf, podPath, rig } from './testing/rig.ts';

test('[SPREAD-01] [SPREAD-15] constraints apply to new pods; scheduled pods stay, however large the skew becomes', async () => {
  const { clock, api, addNode, addPod, pod, stop } = await rig();
  addNode('n1', { labels: { zone: 'z1' } });
  addNode('n2', { labels: { zone: 'z2' } });
  await clock.advance(10);
  const labels = { app: 'a' };
  const constraint = {
    topologyKey: 'zone',
    maxSkew: 1,
    whenUnsatisfiable: 'DoNotSchedule',
    labelSelector: { matchLabels: labels },
  } as const;
  const names = ['a1', 'a2', 'a3', 'a4'];
  for (const name of names) {
    addPod(name, { labels, spec: { topologySpreadConstraints: [constraint] } });
    await clock.advance(100);
  }
  const onFirst = names.filter((name) => nodeOf(pod(name)) === 'n1');
  const onSecond = names.filter((name) => nodeOf(pod(name)) === 'n2');
  assert.deepEqual([onFirst.length, onSecond.length], [2, 2]);
  for (const name of onFirst) api.remove(podPath(name));
  const before = api.requests.length;
  await clock.advance(3_600_000);
  const writes = api.requests.slice(before).filter(({ method }) => method !== 'GET');
  assert.deepEqual(
    writes.map(({ method, path }) => [method, path]),
    [],
  );
  assert.deepEqual(
    onSecond.map((name) => nodeOf(pod(name))),
    ['n2', 'n2'],
  );
  await stop();
});
