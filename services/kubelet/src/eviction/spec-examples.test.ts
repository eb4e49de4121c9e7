import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSilentLog } from '@holdfast/platform';
import { createVirtualClock } from '@holdfast/platform/testing';
import { readKubeletConfig } from '../config.ts';
import type { PodFailure } from '../domain/pod-worker-types.ts';
import { settingsOf } from '../node/kubelet-configuration.ts';
import type { PodSample } from '../stats/port.ts';
import { GIB, MIB, podUsing } from '../testing/pressure.ts';
import { Evictor } from './evictor.ts';
import { rank } from './rank.ts';
import { type EvictionConfig, limitOf } from './thresholds.ts';

/** The settings of a kubelet with this configuration file. */
function configured(fields: object): EvictionConfig {
  const header = { apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration' };
  const env = settingsOf({ ...header, ...fields });
  const config = readKubeletConfig({ argv: ['--state-dir=/nowhere', '--api-servers=https://nowhere'], env });
  assert.ok(config !== undefined);
  return config.eviction;
}

/** A node whose free memory grows by what an ended pod used. */
function nodeWith(t: { after(end: () => void): void }, config: EvictionConfig, pods: readonly PodSample[]) {
  const clock = createVirtualClock();
  const ended: { readonly name: string; readonly failure: PodFailure; readonly atSecond: number }[] = [];
  const state = { pods, availableBytes: 4 * GIB };
  const evictor = new Evictor({
    config,
    stats: {
      sample: async () => ({
        at: clock.now(),
        machine: { memory: { capacityBytes: 8 * GIB, availableBytes: state.availableBytes } },
        pods: state.pods,
      }),
    },
    allocatableMemory: undefined,
    clock,
    log: createSilentLog(),
    events: { event: () => {} },
    node: () => undefined,
    end: async (uid, failure) => {
      const gone = state.pods.find(({ pod }) => pod.metadata.uid === uid);
      state.pods = state.pods.filter((each) => each !== gone);
      state.availableBytes += gone?.containers[0]?.memoryBytes ?? 0;
      ended.push({ name: uid, failure, atSecond: clock.monotonic() / 1000 });
    },
    onConditions: () => {},
  });
  t.after(() => evictor.stop());
  evictor.start();
  return { clock, state, ended, evictor };
}

test('[EXP-15] evictionHard, evictionSoft and their grace are maps of a configuration file', () => {
  const { thresholds } = configured({
    evictionHard: { 'memory.available': '300Mi' },
    evictionSoft: { 'memory.available': '300Mi' },
    evictionSoftGracePeriod: { 'memory.available': '30s' },
  });
  const read = thresholds.map(({ signal, kind, limit, graceMs }) => [signal, kind, limitOf(limit, 8 * GIB), graceMs]);
  assert.deepEqual(read, [
    ['memory.available', 'hard', 300 * MIB, 0],
    ['memory.available', 'soft', 300 * MIB, 30_000],
    ['allocatableMemory.available', 'hard', 300 * MIB, 0],
  ]);
});

test('[EXP-15] the soft threshold applies only after 30 s without a pause, the hard one at once', async (t) => {
  const soft = {
    evictionHard: { 'memory.available': '100Mi' },
    evictionSoft: { 'memory.available': '300Mi' },
    evictionSoftGracePeriod: { 'memory.available': '30s' },
  };
  const { clock, state, ended } = nodeWith(t, configured(soft), [podUsing('a', { memory: GIB })]);
  state.availableBytes = 200 * MIB;
  await clock.advance(25_000);
  state.availableBytes = GIB;
  await clock.advance(10_000);
  state.availableBytes = 200 * MIB;
  await clock.advance(34_000);
  assert.deepEqual(ended, [], 'the pause began the 30 s anew');
  await clock.advance(10_000);
  assert.deepEqual(
    ended.map(({ name }) => name),
    ['a'],
  );
  const hard = nodeWith(t, configured(soft), [podUsing('b', { memory: GIB })]);
  hard.state.availableBytes = 50 * MIB;
  await hard.clock.advance(10_500);
  assert.equal(hard.ended.length, 1);
});

test('[PRIO-13] a pod without a priority is ranked with priority 0', () => {
  const using = (name: string, priority?: number) =>
    podUsing(name, { memory: 200 * MIB, request: '100Mi', ...(priority === undefined ? {} : { priority }) });
  assert.deepEqual(names(rank([using('none'), using('below', -1)], 'memory')), ['below', 'none']);
  assert.deepEqual(names(rank([using('above', 1), using('none')], 'memory')), ['none', 'above']);
});

const names = (pods: readonly PodSample[]) => pods.map(({ pod }) => pod.metadata.name);

test('[PRIO-20] the ranking: above the request or not, then the lower priority, then the larger excess', () => {
  const above = (name: string, priority: number, memory: number) =>
    podUsing(name, { memory: memory * MIB, request: '100Mi', priority });
  const within = podUsing('within', { memory: 100 * MIB, request: '100Mi', priority: -1_000 });
  const all = [within, above('high', 10, 900), above('low-little', 0, 101), above('low-much', 0, 500)];
  const expected = ['low-much', 'low-little', 'high', 'within'];
  for (const order of [all, all.toReversed(), [all[2], all[0], all[3], all[1]]])
    assert.deepEqual(
      names(
        rank(
          order.filter((pod) => pod !== undefined),
          'memory',
        ),
      ),
      expected,
    );
});

test('[PRIO-21] [EXS-27] a high-priority pod above its request is evicted; a low-priority pod within its request stays', async (t) => {
  const low = podUsing('low', { memory: 100 * MIB, request: '200Mi', priority: 0 });
  const high = podUsing('high', { memory: 300 * MIB, request: '200Mi', priority: 1_000 });
  const config = configured({ evictionHard: { 'memory.available': '300Mi' } });
  const { clock, state, ended } = nodeWith(t, config, [low, high]);
  state.availableBytes = 100 * MIB;
  await clock.advance(120_000);
  assert.deepEqual(
    ended.map(({ name, failure }) => [name, failure.reason]),
    [['high', 'Evicted']],
  );
  assert.deepEqual(names(state.pods), ['low'], 'with high gone there is enough');
});
