import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiClient } from '@holdfast/client';
import { nextTurn } from '@holdfast/platform';
import { createVirtualClock } from '@holdfast/platform/testing';
import { POLICIES_WAIT_MS } from './limits.ts';
import { type AdmittedPod, createNodeNetwork } from './node-network.ts';
import type { PodNetwork } from './pod-network.ts';

const POD = { podNamespace: 'shop', podName: 'web', podUid: 'u1' };

/** A node whose policies admit a pod when the test says so. */
function rig(failure?: string) {
  const clock = createVirtualClock();
  const did: string[] = [];
  const admitted = Promise.withResolvers<void>();
  const network = {
    attach: async (key: string, _network: string, group?: string) => {
      did.push(`attach ${key} in the group ${group}`);
      return { key, address: '10.244.1.2', path: '/proc/7/root/x', agent: 7 };
    },
    detach: async (key: string) => void did.push(`detach ${key}`),
  } as unknown as PodNetwork;
  const client = { find: async () => ({ spec: { podCIDR: '10.244.1.0/24' } }) } as unknown as ApiClient;
  const asked: AdmittedPod[] = [];
  const policies = {
    admit: (pod: AdmittedPod) => {
      asked.push(pod);
      return admitted.promise;
    },
    leave: (id: string) => void did.push(`leave ${id}`),
    failure: () => failure,
  };
  const node = createNodeNetwork({ network, client, clock, nodeName: 'n', policies });
  return { clock, node, did, asked, admit: admitted.resolve };
}

test('a pod gets its network when the network policies bind its address', async () => {
  const { node, asked, admit, did } = rig();
  let isAttached = false;
  const attached = node.attach('u1/0', POD).then(({ address }) => {
    isAttached = true;
    return address;
  });
  while (asked.length === 0) await nextTurn();
  await nextTurn();
  assert.equal(isAttached, false);
  assert.deepEqual(asked, [{ id: 'n/u1/0', namespace: 'shop', name: 'web', uid: 'u1', address: '10.244.1.2' }]);
  admit();
  assert.equal(await attached, '10.244.1.2');
  await node.detach('u1/0');
  assert.deepEqual(did, ['attach n/u1/0 in the group shop', 'detach n/u1/0', 'leave n/u1/0']);
});

test('a pod that waits for policies whose rules cannot be written says why they cannot', async () => {
  const { clock, node, asked } = rig('nft ended with 1: No such file or directory');
  const attached = node.attach('u1/0', POD);
  attached.catch(() => undefined);
  while (asked.length === 0) await nextTurn();
  await clock.advance(POLICIES_WAIT_MS);
  await assert.rejects(attached, /not in force yet; .*: the rules cannot be written: nft ended with 1: No such file/);
});

test('a pod whose policies are not in force in time does not start, and says why', async () => {
  const { clock, node, asked } = rig();
  const attached = node.attach('u1/0', POD);
  attached.catch(() => undefined);
  while (asked.length === 0) await nextTurn();
  await clock.advance(POLICIES_WAIT_MS);
  await assert.rejects(attached, /network policies of the pod are not in force yet/);
  assert.equal(clock.pendingTimers(), 0);
});
