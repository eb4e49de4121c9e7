import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createSilentLog } from '@holdfast/platform';
import { createVirtualClock } from '@holdfast/platform/testing';
import type { ContainerRuntime, SandboxStatus } from '../runtime/port.ts';
import type { ImageStatus } from '../runtime/port-images.ts';
import { GarbageCollector } from './collector.ts';
import { DEFAULT_GARBAGE_POLICY } from './policy.ts';

const image = (id: string, sizeBytes: number): ImageStatus => ({ id, names: [], sizeBytes });

/** A runtime whose disk is as full as its images make it. */
function node(t: TestContext, change: { readonly images: readonly ImageStatus[]; readonly used?: readonly string[] }) {
  const clock = createVirtualClock();
  const events: { readonly reason: string; readonly message: string }[] = [];
  const state = {
    images: [...change.images],
    undeletable: new Set<string>(),
    answers: true,
    removed: [] as string[],
    sandboxes: [] as SandboxStatus[],
  };
  const runtime = {
    list: async () => {
      if (!state.answers) throw new Error('nobody answers');
      return state.sandboxes;
    },
    removeContainer: async (id: string) => void state.removed.push(id),
    removeSandbox: async (id: string) => void state.removed.push(id),
    images: {
      list: async () => {
        if (!state.answers) throw new Error('nobody answers');
        return state.images;
      },
      used: async () => new Set(change.used ?? []),
      directory: async () => '/images',
      remove: async (id: string) => {
        if (state.undeletable.has(id)) throw new Error(`${id} is busy`);
        state.images = state.images.filter((each) => each.id !== id);
        state.removed.push(id);
      },
    },
  } as unknown as ContainerRuntime;
  const collector = new GarbageCollector({
    policy: DEFAULT_GARBAGE_POLICY,
    runtime,
    clock,
    log: createSilentLog(),
    events: { event: (_node, { reason, message }) => void events.push({ reason, message }) },
    node: () => ({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1' }, spec: {}, status: {} }) as never,
    roomOf: async () => {
      const used = state.images.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
      return { capacityBytes: 1_000, availableBytes: 1_000 - used };
    },
  });
  t.after(() => collector.stop());
  return { collector, clock, events, state };
}

test('the collector runs every five minutes, and frees only enough to reach the low threshold', async (t) => {
  const { collector, clock, state, events } = node(t, {
    images: [image('a', 300), image('b', 300), image('c', 300)],
    used: ['b'],
  });
  collector.start();
  await clock.advance(299_000);
  assert.deepEqual(state.removed, []);
  await clock.advance(2_000);
  assert.deepEqual(state.removed, ['a']);
  await clock.advance(600_000);
  assert.deepEqual([state.removed, events], [['a'], []]);
});

test('when too little can be removed the node reports it: first the missing amount, then the failure', async (t) => {
  const { collector, clock, state, events } = node(t, { images: [image('a', 900), image('b', 60)], used: ['a'] });
  collector.start();
  await clock.advance(301_000);
  assert.deepEqual(state.removed, ['b']);
  const message =
    'Failed to garbage collect required amount of images. Attempted to free 160 bytes, but only found 60 bytes eligible to free.';
  assert.deepEqual(events, [{ reason: 'FreeDiskSpaceFailed', message }]);
  await clock.advance(300_000);
  assert.deepEqual(
    events.map(({ reason }) => reason),
    ['FreeDiskSpaceFailed', 'FreeDiskSpaceFailed', 'ImageGCFailed'],
  );
});

test('an image that cannot be removed does not block the next one', async (t) => {
  const { collector, clock, state } = node(t, { images: [image('a', 500), image('b', 450)] });
  state.undeletable.add('a');
  collector.start();
  await clock.advance(301_000);
  assert.deepEqual(state.removed, ['b']);
});

test('a runtime that does not answer is reported from the second failure on, and asked again', async (t) => {
  const { collector, clock, state, events } = node(t, { images: [image('a', 900)] });
  collector.start();
  await clock.advance(1_000);
  state.answers = false;
  await clock.advance(301_000);
  assert.ok(!events.some(({ reason }) => reason === 'ImageGCFailed'));
  assert.ok(events.some(({ reason, message }) => reason === 'ContainerGCFailed' && message.includes('nobody answers')));
  await clock.advance(300_000);
  assert.ok(events.some(({ reason }) => reason === 'ImageGCFailed'));
  state.answers = true;
  await clock.advance(300_000);
  assert.deepEqual(state.removed, ['a']);
});

test('under disk pressure all unused images are removed, except recently pulled ones', async (t) => {
  const { collector, clock, state } = node(t, {
    images: [image('a', 10), image('b', 20), image('c', 30)],
    used: ['b'],
  });
  assert.equal(await collector.reclaim(), 40);
  assert.deepEqual(state.removed.toSorted(), ['a', 'c']);
  state.images.push(image('d', 40));
  assert.equal(await collector.reclaim(), 0, 'a container may be about to have it');
  await clock.advance(121_000);
  assert.equal(await collector.reclaim(), 40);
});

test('containers that ended are collected every minute', async (t) => {
  const { collector, clock, state } = node(t, { images: [] });
  const config = { podUid: 'u', podName: 'p', podNamespace: 'd', hostname: 'p', attempt: 0 };
  const containers = [0, 1, 2].map((restartCount) => ({
    id: `c${restartCount}`,
    config: { name: 'main', image: 'i', restartCount },
    state: 'exited' as const,
    createdAt: restartCount,
  }));
  state.sandboxes = [{ id: 's', config, state: 'ready', createdAt: 0, ip: '', containers }];
  collector.start();
  await clock.advance(61_000);
  assert.deepEqual(state.removed, ['c0']);
});
