import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSilentLog } from '@holdfast/platform';
import { createVirtualClock } from '@holdfast/platform/testing';
import { NODE_ADDRESS_LOOK_MS } from '../limits.ts';
import { app, VirtualPod } from '../testing/virtual-pod.ts';
import { NodeAddress } from './node-address.ts';

test('the address is polled, and a change is reported once', async () => {
  const clock = createVirtualClock();
  let now = '192.0.2.1';
  const address = new NodeAddress({ read: () => now, clock, log: createSilentLog() });
  const told: string[] = [];
  address.onChange(() => told.push(address.current()));
  address.start();
  await clock.advance(3 * NODE_ADDRESS_LOOK_MS);
  assert.deepEqual(told, []);
  now = '198.51.100.7';
  assert.equal(address.current(), '192.0.2.1', 'nobody has looked');
  await clock.advance(3 * NODE_ADDRESS_LOOK_MS);
  assert.deepEqual(told, ['198.51.100.7']);
  now = '203.0.113.9';
  assert.equal(address.look(), '203.0.113.9');
  assert.deepEqual(told.at(-1), '203.0.113.9');
  address.stop();
  now = '192.0.2.1';
  await clock.advance(3 * NODE_ADDRESS_LOOK_MS);
  assert.equal(told.length, 2);
});

test('a pod on the host network of a moved machine reports the new address, and its probes use it', async () => {
  const asked: string[] = [];
  const network = {
    httpGet: ({ url }: { readonly url: string }) => {
      asked.push(new URL(url).hostname);
      return Promise.resolve({ status: 200 });
    },
  };
  const probe = { httpGet: { port: 80, path: '/' }, periodSeconds: 5 };
  const pod = new VirtualPod({ containers: [app('main', { readinessProbe: probe, livenessProbe: probe })] }, network);
  pod.moveTo('192.0.2.1');
  await pod.run(12);
  assert.deepEqual([pod.status.podIP, new Set(asked)], ['192.0.2.1', new Set(['192.0.2.1'])]);
  pod.moveTo('198.51.100.7');
  await pod.run(1);
  asked.length = 0;
  await pod.run(12);
  const { podIP, podIPs, hostIP, hostIPs } = pod.status;
  assert.deepEqual([podIP, podIPs], ['198.51.100.7', [{ ip: '198.51.100.7' }]]);
  assert.deepEqual([hostIP, hostIPs], ['198.51.100.7', [{ ip: '198.51.100.7' }]]);
  assert.deepEqual(new Set(asked), new Set(['198.51.100.7']));
  assert.equal(pod.container('main').restartCount, 0);
  await pod.stop();
});
