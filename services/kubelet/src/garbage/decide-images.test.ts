import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readSettings } from '@holdfast/platform/config';
import fc from 'fast-check';
import type { ImageStatus } from '../runtime/port-images.ts';
import { decideImages, type ImageMemory, rememberImages } from './decide-images.ts';
import { DEFAULT_GARBAGE_POLICY, GARBAGE_SETTINGS, type GarbageFlags, readGarbagePolicy } from './policy.ts';

const POLICY = DEFAULT_GARBAGE_POLICY.images;
const MINUTE = 60_000;

const image = (id: string, change: Partial<ImageStatus> = {}): ImageStatus => ({
  id,
  names: [`registry/${id}:1`],
  sizeBytes: 10,
  ...change,
});

/** The image memory after observations at these times. */
function history(
  looks: readonly { readonly now: number; readonly ids: readonly string[]; readonly used?: readonly string[] }[],
) {
  let memory: ImageMemory | undefined;
  for (const { now, ids, used = [] } of looks)
    memory = rememberImages(memory, { images: ids.map((id) => image(id)), used: new Set(used), now });
  return memory ?? new Map();
}

const look = (images: readonly ImageStatus[], change: Partial<Parameters<typeof decideImages>[1]> = {}) => ({
  images,
  used: new Set<string>(),
  now: 60 * MINUTE,
  startedAt: 0,
  disk: { capacityBytes: 1_000, availableBytes: 100 },
  ...change,
});

const all = ['a', 'b', 'c'];
const images = all.map((id) => image(id));
const idsOf = (removed: readonly { readonly id: string }[]): readonly string[] => removed.map(({ id }) => id);

test('below the high threshold nothing is removed; from it on, enough to reach the low one', () => {
  const memory = history([{ now: 0, ids: all }]);
  const at = (availableBytes: number) =>
    decideImages(POLICY, look(images, { disk: { capacityBytes: 1_000, availableBytes } }), memory);
  assert.deepEqual([at(160).wantedBytes, at(160).remove], [0, []], '84 % used');
  assert.equal(at(150).wantedBytes, 50, '85 % used, down to 80 %');
  assert.equal(at(0).wantedBytes, 200);
  assert.deepEqual(idsOf(at(150).remove), all);
});

test('the least recently used image is removed first, and among unused ones the longest known', () => {
  const memory = history([
    { now: 0, ids: ['b'] },
    { now: 1, ids: ['b', 'c'], used: ['b'] },
    { now: 2, ids: all },
  ]);
  assert.deepEqual(idsOf(decideImages(POLICY, look(images), memory).remove), ['c', 'a', 'b']);
});

test('images in use by id or by name, pinned images and recently pulled images stay', () => {
  const some = [image('used'), image('named'), image('pinned', { pinned: true }), image('new'), image('free')];
  const memory = history([
    { now: 0, ids: ['used', 'named', 'pinned', 'free'] },
    { now: 59 * MINUTE, ids: some.map(({ id }) => id) },
  ]);
  const used = new Set(['used', 'registry/named:1']);
  assert.deepEqual(idsOf(decideImages(POLICY, look(some, { used }), memory).remove), ['free']);
  assert.deepEqual(idsOf(decideImages(POLICY, look(some, { used, now: 61 * MINUTE }), memory).remove), ['free', 'new']);
});

test('imageMaximumGCAge: images unused for longer are removed regardless of free space, but not before this kubelet can know', () => {
  const policy = { ...POLICY, maxAgeMs: 30 * MINUTE };
  const disk = { capacityBytes: 1_000, availableBytes: 900 };
  const memory = history([
    { now: 0, ids: ['a', 'b'] },
    { now: 40 * MINUTE, ids: ['a', 'b', 'c'], used: ['b'] },
  ]);
  const old = (now: number, startedAt = 0) => decideImages(policy, look(images, { now, startedAt, disk }), memory).old;
  assert.deepEqual(old(50 * MINUTE), ['a']);
  assert.deepEqual(old(71 * MINUTE).toSorted(), all);
  assert.deepEqual(old(71 * MINUTE, 60 * MINUTE), []);
  assert.deepEqual(decideImages(POLICY, look(images, { now: 999 * MINUTE, disk }), memory).old, [], '0: never');
});

test('with any images: a used, pinned or new image stays, and nothing is removed while there is space', () => {
  const some = fc.uniqueArray(
    fc.record({
      id: fc.integer({ min: 0, max: 30 }).map(String),
      pinned: fc.boolean(),
      isUsed: fc.boolean(),
      firstLook: fc.nat(3),
      sizeBytes: fc.nat(500),
    }),
    { selector: ({ id }) => id, maxLength: 20 },
  );
  const percent = fc.record({ low: fc.nat(99), more: fc.integer({ min: 1, max: 100 }) });
  fc.assert(
    fc.property(
      some,
      percent,
      fc.nat(1_000),
      fc.nat(10 * MINUTE),
      (records, { low, more }, availableBytes, minAgeMs) => {
        const policy = { ...POLICY, lowPercent: low, highPercent: Math.min(100, low + more), minAgeMs };
        let memory: ImageMemory | undefined;
        const used = new Set(records.filter(({ isUsed }) => isUsed).map(({ id }) => id));
        for (let step = 0; step <= 3; step++) {
          const present = records.filter(({ firstLook }) => firstLook <= step);
          memory = rememberImages(memory, {
            images: present.map((each) => image(each.id, each)),
            used,
            now: step * MINUTE,
          });
        }
        const disk = { capacityBytes: 1_000, availableBytes };
        const observed = look(
          records.map((each) => image(each.id, each)),
          { used, now: 3 * MINUTE, disk },
        );
        const { remove, wantedBytes } = decideImages(policy, observed, memory ?? new Map());
        for (const { id } of remove) {
          const record = records.find((each) => each.id === id);
          assert.ok(record !== undefined && !record.pinned && !record.isUsed);
          assert.ok(record.firstLook === 0 || (3 - record.firstLook) * MINUTE >= minAgeMs);
        }
        if (100 - Math.floor(availableBytes / 10) < policy.highPercent)
          assert.deepEqual([wantedBytes, remove], [0, []]);
        assert.ok(availableBytes + wantedBytes <= Math.max(availableBytes, 10 * (100 - low)));
      },
    ),
  );
});

test('settings: the defaults of Kubernetes; invalid values are refused by name', () => {
  const defaults: GarbageFlags = readSettings(GARBAGE_SETTINGS, { argv: [], env: {} });
  assert.deepEqual(readGarbagePolicy(defaults), DEFAULT_GARBAGE_POLICY);
  const refused: readonly (readonly [Partial<GarbageFlags>, RegExp])[] = [
    [{ 'image-gc-low-threshold': 85 }, /image-gc-low-threshold: 85 must be lower than/],
    [{ 'image-maximum-gc-age': 60_000 }, /image-maximum-gc-age: must be longer/],
  ];
  for (const [flags, message] of refused) assert.throws(() => readGarbagePolicy({ ...defaults, ...flags }), message);
});
