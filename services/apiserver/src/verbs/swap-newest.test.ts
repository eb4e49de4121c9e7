import assert from 'node:assert/strict';
import { test } from 'node:test';
import { badRequest } from '@holdfast/machinery';
import { CachedObject } from '../cache/cached-object.ts';
import type { ResourceContext } from '../http/context.ts';
import { WRITE_ATTEMPTS_MAX } from '../limits.ts';
import { requestOf } from '../testing/fixture.ts';
import { type Propose, swapNewest } from './swap-newest.ts';

const KEY = 'core/configmaps/default/one';

interface World {
  /** Revisions of the one object: what the cache shows, and what the store has. */
  readonly cached: number | undefined;
  readonly stored: number | undefined;
  readonly isEncrypted?: boolean;
  /** The cache hears of no changes. */
  readonly isDeaf?: boolean;
  /** The time of the request is over after so many attempts. */
  readonly attemptsInTime?: number;
}

type Attempt = (revision: number | undefined) => ReturnType<Propose<string>>;

/** What the loop did: states that were proposed about, reads of the store, remarks that were told, and the result or its error. */
async function run(world: World, attempt: Attempt) {
  const seen: (number | undefined)[] = [];
  const told: string[] = [];
  let reads = 0;
  const isOver = (): boolean => seen.length >= (world.attemptsInTime ?? Number.POSITIVE_INFINITY);
  const context: ResourceContext = {
    request: { ...requestOf('PATCH', '/x', {}), isOver },
    info: {
      kind: 'resource',
      verb: 'patch',
      path: '/x',
      group: '',
      version: 'v1',
      resource: 'configmaps',
      namespace: 'default',
      name: 'one',
      subresource: '',
      rest: '',
    },
    user: { name: 'admin', groups: [] },
    representation: { shape: 'object', shapeVersion: 'v1', encoding: 'json', contentType: 'application/json' },
    warn: (text) => void told.push(text),
    audit: {
      level: 'Metadata',
      annotate: (key, value) => void told.push(`${key}=${value}`),
      actsAs: () => {},
      failed: () => {},
    },
  };
  const states = {
    store: {
      get: async () => {
        reads += 1;
        const { stored } = world;
        const object =
          stored === undefined ? undefined : { key: KEY, value: '{}', revision: stored, createRevision: 1 };
        return { revision: 9, object };
      },
      ...(world.isEncrypted === true ? { atRest: { covers: () => true } } : {}),
    },
    cache: {
      byKey: () => (world.cached === undefined ? undefined : new CachedObject(KEY, '{}', world.cached)),
      current: world.isDeaf !== true,
    },
  };
  const result = await swapNewest(states, context, KEY, async (object, { warn, audit }) => {
    seen.push(object?.revision);
    warn(`warned of ${object?.revision}`);
    audit?.annotate('about', String(object?.revision));
    return attempt(object?.revision);
  }).catch((error: Error) => error.message);
  return { result, seen, told, reads };
}

/** A swap succeeds on the stored revision alone. */
const swapOf =
  ({ stored }: World): Attempt =>
  async (revision) => ({
    write: async () => (revision === stored ? `written over ${revision}` : undefined),
  });
const toldOf = (revision: number | undefined): string[] => [`warned of ${revision}`, `about=${revision}`];

test('a swap on the state in the cache reads nothing from the store', async () => {
  const world = { cached: 4, stored: 4 };
  const { result, seen, reads } = await run(world, swapOf(world));
  assert.deepEqual([result, seen, reads], ['written over 4', [4], 0]);
});

test('a swap on an old state is repeated on the newest, and what was remarked of the old one is not told', async () => {
  const world = { cached: 4, stored: 6 };
  const { result, seen, told, reads } = await run(world, swapOf(world));
  assert.deepEqual([result, seen, reads], ['written over 6', [4, 6], 1]);
  assert.deepEqual(told, toldOf(6));
});

const UNPROVEN: Readonly<Record<string, Attempt>> = {
  'an answer without a write': async (revision) => ({ answer: `found ${revision}` }),
  'a refusal': (revision) => Promise.reject(badRequest(`refused ${revision}`)),
  'a refusal before the write is sent': async (revision) => ({
    write: () => Promise.reject(badRequest(`refused ${revision}`)),
  }),
};
for (const [what, attempt] of Object.entries(UNPROVEN)) {
  test(`${what} counts when the store has the same state, and is not made again`, async () => {
    const { result, seen, told, reads } = await run({ cached: 4, stored: 4 }, attempt);
    assert.match(result ?? '', / 4$/);
    assert.deepEqual([seen, told, reads], [[4], toldOf(4), 1]);
  });

  test(`${what} about an old state is made again about the newest`, async () => {
    const { result, seen, told } = await run({ cached: 4, stored: 6 }, attempt);
    assert.match(result ?? '', / 6$/);
    assert.deepEqual([seen, told], [[4, 6], toldOf(6)]);
  });

  test(`${what} about an object that is gone is made again without one`, async () => {
    const { result, seen } = await run({ cached: 4, stored: undefined }, attempt);
    assert.match(result ?? '', / undefined$/);
    assert.deepEqual(seen, [4, undefined]);
  });
}

test('an error of a write that may be applied is the end', async () => {
  const { result, seen, told, reads } = await run({ cached: 4, stored: 6 }, async () => ({
    write: (sent) => {
      sent.mayBeApplied = true;
      return Promise.reject(badRequest('the answer cannot be shown'));
    },
  }));
  assert.deepEqual([result, seen, reads], ['the answer cannot be shown', [4], 0]);
  assert.deepEqual(told, toldOf(4));
});

test('a fault is no refusal', async () => {
  const { result, seen } = await run({ cached: 4, stored: 6 }, () => Promise.reject(new TypeError('a fault')));
  assert.deepEqual([result, seen], ['a fault', [4]]);
});

for (const [what, world] of [
  ['what the cache does not have', { cached: undefined, stored: 6 }],
  ['an encrypted object', { cached: 6, stored: 6, isEncrypted: true }],
  ['an object of a cache that hears nothing', { cached: 6, stored: 6, isDeaf: true }],
] as const) {
  test(`${what} is read first`, async () => {
    const { result, seen, reads } = await run(world, swapOf(world));
    assert.deepEqual([result, seen, reads], ['written over 6', [6], 1]);
  });
}

test('a request whose time is over makes no other attempt, and writes nothing', async () => {
  const lost = { cached: 4, stored: 6, attemptsInTime: 2 };
  const first = await run({ ...lost, attemptsInTime: 1 }, swapOf(lost));
  assert.match(first.result ?? '', /within the allotted timeout/);
  assert.deepEqual(first.seen, [4]);
  const second = await run(lost, swapOf(lost));
  assert.match(second.result ?? '', /within the allotted timeout/);
  assert.deepEqual(second.seen, [4, 6]);
});

test('a writer that others always outrun gives up', async () => {
  const { result, seen } = await run({ cached: 4, stored: 6 }, async () => ({ write: async () => undefined }));
  assert.deepEqual([result, seen.length], [undefined, WRITE_ATTEMPTS_MAX + 1]);
});
