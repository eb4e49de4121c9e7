import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSilentLog } from '@holdfast/platform';
import { createVirtualClock } from '@holdfast/platform/testing';
import { RuntimeError } from '../port.ts';
import { type NetworkedSandbox, NetworkKeeper, type ProcessNetwork } from './process-network.ts';

const attachment = (podUid: string, agent = 7) => ({ key: `${podUid}/0`, path: `/proc/${agent}/${podUid}`, agent });

const sandbox = (podUid: string, agent?: number): NetworkedSandbox => ({
  id: `sandbox of ${podUid}`,
  config: { podUid, podName: podUid, podNamespace: 'default', hostname: podUid, attempt: 0 },
  state: 'ready',
  createdAt: 0,
  ip: '10.0.0.2',
  containers: [],
  ...(agent === undefined ? {} : { network: attachment(podUid, agent) }),
});

function world(sandboxes: readonly NetworkedSandbox[], kept: readonly ReturnType<typeof attachment>[]) {
  const clock = createVirtualClock();
  const did: string[] = [];
  const refusals: Error[] = [];
  let lost = (): void => {};
  const network: ProcessNetwork = {
    attach: async (key) => {
      did.push(`attach ${key}`);
      const refusal = refusals.shift();
      if (refusal !== undefined) throw refusal;
      return { ...attachment(key), address: '10.0.0.9' };
    },
    detach: async (key) => void did.push(`detach ${key}`),
    attached: async () => kept,
    dial: () => Promise.reject(new Error('not here')),
    onLost: (listener) => {
      lost = listener;
      return () => {};
    },
  };
  const keeper = new NetworkKeeper({
    network,
    clock,
    log: createSilentLog(),
    list: async () => sandboxes,
    stop: async (id) => {
      did.push(`stop ${id}`);
      const refusal = refusals.shift();
      if (refusal !== undefined) throw refusal;
    },
  });
  return { keeper, clock, did, refusals, lose: () => lost() };
}

test('after a loss the sandboxes of this network end, and no others', async () => {
  const { did, lose, clock, refusals } = world(
    [sandbox('old', 6), sandbox('kept', 7), sandbox('host')],
    [attachment('kept')],
  );
  refusals.push(new RuntimeError('Unconfirmed', 'processes are left'));
  lose();
  await clock.advance(10_000);
  assert.deepEqual(did, ['stop sandbox of old', 'stop sandbox of old']);
});

test('namespaces without a sandbox are freed once, before the first new one', async () => {
  const { keeper, did } = world([sandbox('kept', 7)], [attachment('kept'), attachment('gone')]);
  const config = (podUid: string) => sandbox(podUid).config;
  await keeper.attach(config('new'));
  await keeper.attach(config('newer'));
  assert.deepEqual(did, ['detach gone/0', 'attach new/0', 'attach newer/0']);
});

test('a pod that does not start gives its address back, unless a sandbox has it', async () => {
  const { keeper, did, refusals } = world([sandbox('kept', 7)], [attachment('kept')]);
  for (const podUid of ['new', 'kept']) {
    refusals.push(new RuntimeError('Unavailable', 'its network policies are not in force'));
    await assert.rejects(keeper.attach(sandbox(podUid).config), /not in force/);
  }
  assert.deepEqual(did, ['attach new/0', 'detach new/0', 'attach kept/0']);
});
