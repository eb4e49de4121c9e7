import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OperatorError } from '@holdfast/platform';
import fc from 'fast-check';
import type { PodSample } from '../stats/port.ts';
import { GIB, MIB, podUsing } from '../testing/pressure.ts';
import { refuseUnderPressure } from './admit.ts';
import { decideEviction, INITIAL_EVICTION_MEMORY } from './decide.ts';
import { exceededLimit } from './local-limits.ts';
import { rank } from './rank.ts';
import { DEFAULT_EVICTION_FLAGS, type EvictionFlags, limitOf, readEvictionConfig, reservedFor } from './thresholds.ts';

const config = (flags: Partial<EvictionFlags> = {}) => readEvictionConfig({ ...DEFAULT_EVICTION_FLAGS, ...flags });
const names = (pods: readonly PodSample[]) => pods.map(({ pod }) => pod.metadata.name);

test('[TERM-47] the defaults match Kubernetes', () => {
  const { thresholds, maxPodGraceSeconds, transitionMs } = config();
  const capacity = 10_000 * MIB;
  assert.deepEqual(
    Object.fromEntries(thresholds.map(({ signal, limit }) => [signal, limitOf(limit, capacity) / MIB])),
    {
      'memory.available': 100,
      'nodefs.available': 1_000,
      'nodefs.inodesFree': 500,
      'imagefs.available': 1_500,
      'imagefs.inodesFree': 500,
      'allocatableMemory.available': 100,
    },
  );
  assert.ok(thresholds.every(({ kind, graceMs }) => kind === 'hard' && graceMs === 0));
  assert.deepEqual([maxPodGraceSeconds, transitionMs], [0, 300_000]);
  assert.equal(reservedFor(config(), 'nodefs.available', capacity), 1_000 * MIB);
});

test('[TERM-47] ambiguous settings are refused by name', () => {
  const refused: readonly (readonly [Partial<EvictionFlags>, RegExp])[] = [
    [{ hard: 'memory.free<1Mi' }, /eviction-hard: unsupported eviction signal memory\.free/],
    [{ hard: 'memory.available=1Mi' }, /eviction-hard: "memory\.available=1Mi" is not written/],
    [{ hard: 'memory.available<x' }, /neither a quantity nor a percentage/],
    [{ hard: 'memory.available<-1Mi' }, /must not be negative/],
    [{ hard: 'nodefs.available<101%' }, /must not be more than 100%/],
    [{ hard: 'pid.available<5,pid.available<6' }, /duplicate eviction threshold specified for pid\.available/],
    [{ soft: 'memory.available<1Gi' }, /grace period must be specified for memory\.available/],
    [{ soft: 'pid.available<5', softGracePeriod: 'pid.available=soon' }, /soon is not a duration/],
  ];
  for (const [flags, message] of refused) {
    assert.throws(
      () => config(flags),
      (error) => error instanceof OperatorError && message.test(error.message),
    );
  }
  assert.deepEqual(config({ hard: 'nodefs.available<0%,imagefs.available<100%' }).thresholds, []);
});

test('an eviction reclaims the configured minimum beyond the threshold', () => {
  const flags = { hard: 'pid.available<100', minimumReclaim: 'pid.available=50' };
  const look = (available: number, memory = INITIAL_EVICTION_MEMORY) =>
    decideEviction(
      config(flags),
      { measures: { 'pid.available': { available, capacity: 1_000 } }, pods: [], now: 0 },
      memory,
    );
  assert.equal(look(120).relief, undefined);
  const acting = look(90);
  assert.equal(acting.relief?.threshold.signal, 'pid.available');
  assert.equal(look(149, acting.memory).relief?.threshold.signal, 'pid.available');
  assert.equal(look(150, acting.memory).relief, undefined);
});

test('memory is reclaimed before the disk', () => {
  const measures = {
    'nodefs.available': { available: 1, capacity: 100 * GIB },
    'memory.available': { available: 1, capacity: GIB },
  };
  const { relief, conditions } = decideEviction(config(), { measures, pods: [], now: 0 }, INITIAL_EVICTION_MEMORY);
  assert.equal(relief?.threshold.signal, 'memory.available');
  assert.deepEqual(conditions, ['MemoryPressure', 'DiskPressure']);
});

test('[QOS-05] [QOS-06] [QOS-07] ranking: usage above the request first, then priority, then the excess', () => {
  const guaranteed = podUsing('guaranteed', { memory: 500 * MIB, request: '1Gi', priority: -10 });
  const burstable = podUsing('burstable', { memory: 600 * MIB, request: '100Mi' });
  const bestEffort = podUsing('best-effort', { memory: 700 * MIB });
  const important = podUsing('important', { memory: 3 * GIB, priority: 100 });
  const unknown = podUsing('unknown', {});
  assert.deepEqual(names(rank([guaranteed, important, burstable, bestEffort, unknown], 'memory')), [
    'unknown',
    'best-effort',
    'burstable',
    'important',
    'guaranteed',
  ]);
  const modest = podUsing('modest', { memory: 100 * MIB, request: '200Mi', priority: 1 });
  assert.deepEqual(names(rank([modest, guaranteed], 'memory')), ['guaranteed', 'modest'], 'below: by priority');
});

test('ranking by processes and by disk usage', () => {
  const few = podUsing('few', { processes: 2, logs: { bytes: 900, inodes: 1 } });
  const many = podUsing('many', { processes: 90, logs: { bytes: 10, inodes: 70 } });
  const high = podUsing('high', { processes: 999, priority: 1, logs: { bytes: 9_999, inodes: 999 } });
  assert.deepEqual(names(rank([few, high, many], 'pids')), ['many', 'few', 'high']);
  assert.deepEqual(names(rank([many, high, few], 'ephemeral-storage')), ['few', 'many', 'high']);
  assert.deepEqual(names(rank([few, high, many], 'inodes')), ['many', 'few', 'high']);
});

test('[QOS-06] no pod within its request is ranked before one above it, and no higher priority before a lower one', () => {
  const pod = fc.record({
    memory: fc.integer({ min: 0, max: 2_000 }),
    request: fc.integer({ min: 0, max: 2_000 }).map(String),
    priority: fc.integer({ min: -3, max: 3 }),
  });
  fc.assert(
    fc.property(fc.array(pod, { maxLength: 12 }), (all) => {
      const exceeds = new Map(all.map(({ memory, request }, index) => [String(index), memory > Number(request)]));
      const ranked = rank(
        all.map((use, index) => podUsing(String(index), use)),
        'memory',
      );
      for (const [index, { pod: later }] of ranked.entries()) {
        const before = ranked[index - 1]?.pod;
        if (before === undefined) continue;
        const [first, second] = [exceeds.get(before.metadata.name ?? ''), exceeds.get(later.metadata.name ?? '')];
        assert.ok(first === true || second === false);
        if (first === second) assert.ok((before.spec.priority ?? 0) <= (later.spec.priority ?? 0));
      }
    }),
  );
});

test('a node under pressure refuses new pods', () => {
  const bestEffort = podUsing('a', {}).pod;
  const burstable = podUsing('b', { request: '1Mi' }).pod;
  const tolerations = [{ key: 'node.kubernetes.io/memory-pressure', operator: 'Exists', effect: 'NoSchedule' }];
  const tolerant = podUsing('c', { spec: { tolerations } }).pod;
  const critical = podUsing('d', { priority: 2_000_001_000 }).pod;
  assert.deepEqual(refuseUnderPressure(bestEffort, ['MemoryPressure']), {
    reason: 'Evicted',
    message: 'Pod was rejected: The node had condition: [MemoryPressure]. ',
    event: { type: 'Warning', message: 'The node had condition: [MemoryPressure]. ' },
  });
  for (const pod of [burstable, tolerant, critical])
    assert.equal(refuseUnderPressure(pod, ['MemoryPressure']), undefined);
  for (const pod of [burstable, tolerant, bestEffort]) {
    assert.match(refuseUnderPressure(pod, ['DiskPressure'])?.message ?? '', /\[DiskPressure\]/);
    assert.equal(refuseUnderPressure(pod, []), undefined);
  }
  assert.equal(refuseUnderPressure(critical, ['DiskPressure']), undefined);
});

test('limits on the writes of a pod: the pod, then its containers', () => {
  const limits = { 'ephemeral-storage': '1Ki' };
  const ofPod = podUsing('p', { limits, logs: { bytes: 500, inodes: 1 }, volumes: { v: { bytes: 600, inodes: 1 } } });
  assert.equal(
    exceededLimit(ofPod)?.message,
    'Pod ephemeral local storage usage exceeds the total limit of containers 1Ki. ',
  );
  const containers = ['main', 'other'].map((name) => ({ name, image: 'i', resources: { limits } }));
  const ofContainer = podUsing('c', { spec: { containers }, logs: { bytes: 1_500, inodes: 1 } });
  assert.deepEqual(exceededLimit(ofContainer), {
    message: 'Container main exceeded its local ephemeral storage limit "1Ki". ',
    signal: 'ephemeralcontainerfs.limit',
  });
  assert.equal(exceededLimit(podUsing('u', { limits, logs: { bytes: 1_024, inodes: 1 } })), undefined);
});
