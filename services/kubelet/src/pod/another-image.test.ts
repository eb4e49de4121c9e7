import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '@holdfast/api';
import { podOf, started, World } from '../testing/pod-world.ts';
import { app, VirtualPod } from '../testing/virtual-pod.ts';

const withImage =
  (image: string, command?: string[]) =>
  (pod: Pod): Pod => {
    const containers = pod.spec.containers.map((each) => ({ ...each, image, ...(command && { command }) }));
    return { ...pod, spec: { ...pod.spec, containers } };
  };

test('[POD-22] [LIFE-22] a container in back-off starts immediately with another image', async () => {
  const pod = await new VirtualPod({ containers: [app('main', { command: ['exit-after', '1', '1'] })] }).run(40);
  const begins = (): readonly number[] => pod.began.map(({ at }) => at);
  assert.deepEqual(begins(), [0, 1, 12, 33]);
  pod.change(withImage('busybox:1.37', ['exit-after', '1', '1']));
  await pod.run(20);
  assert.deepEqual(begins().slice(4), [40, 51], 'the back-off of the new image begins with its first restart');
  await pod.stop();
});

test('[POD-22] a running container with a history of failures restarts immediately with another image', async () => {
  const pod = await new VirtualPod({ containers: [app('main', { command: ['exit-after', '15', '1'] })] }).run(75);
  const begins = (): readonly number[] => pod.began.map(({ at }) => at);
  const before = begins().length;
  assert.equal(pod.container('main').state.running !== undefined, true);
  pod.change(withImage('busybox:1.37'));
  await pod.run(2);
  assert.ok(begins().slice(before).length > 0, `it restarts: ${begins().join(' ')}`);
  await pod.stop();
});

test('[POD-22] [LIFE-16] another image does not wait for the missing one', () => {
  const world = new World(podOf({}));
  const missing = (image: string): void => {
    const failure = { reason: 'ImagePullBackOff', message: '', retryAt: world.now + 300_000, image };
    world.memory = { ...world.memory, failures: { main: failure } };
  };
  missing('i');
  world.settle();
  assert.ok(!world.applied.includes('start main#0'));
  missing('typo');
  world.settle();
  assert.ok(world.applied.includes('start main#0'));
});

test('[POD-22] the status shows the image of the process, not the next one', () => {
  const world = started({ restartPolicy: 'Never' });
  const imageSaid = (): string | undefined => world.pod?.status.containerStatuses?.[0]?.image;
  assert.equal(imageSaid(), 'i');
  world.pod = withImage('j')(world.pod ?? assert.fail());
  world.settle();
  assert.equal(world.alive.length, 1, 'the policy keeps it running');
  assert.equal(imageSaid(), 'i');
});
