import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CachedObject } from '../cache/cached-object.ts';
import { WRITE_ATTEMPTS_MAX } from '../limits.ts';
import { type Proposal, swapNewest } from './swap-newest.ts';

const KEY = 'core/configmaps/default/one';

interface World {
  /** Revisions of the one object: what the cache shows, and what the store has. */
  readonly cached: number | undefined;
  readonly stored: number | undefined;
  readonly isEncrypted?: boolean;
}

/** Runs the loop, and notes which states were proposed about and how often the store was read. */
function run(world: World, propose: (revision: number | undefined) => Proposal<string>) {
  const seen: (number | undefined)[] = [];
  let reads = 0;
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
    cache: { byKey: () => (world.cached === undefined ? undefined : new CachedObject(KEY, '{}', world.cached)) },
  };
  const result = swapNewest(states, KEY, async (object) => {
    seen.push(object?.revision);
    return propose(object?.revision);
  });
  return { result, seen, reads: () => reads };
}

/** A swap succeeds on the stored revision alone. */
const swapOf =
  ({ stored }: World) =>
  (revision: number | undefined): Proposal<string> => ({
    write: async () => (revision === stored ? `written over ${revision}` : undefined),
  });
const answer = (revision: number | undefined): Proposal<string> => ({ answer: `found ${revision}` });
const refuse = (revision: number | undefined): Proposal<string> => {
  throw new Error(`refused ${revision}`);
};

test('a swap on the state in the cache reads nothing from the store', async () => {
  const world = { cached: 4, stored: 4 };
  const { result, seen, reads } = run(world, swapOf(world));
  assert.equal(await result, 'written over 4');
  assert.deepEqual([seen, reads()], [[4], 0]);
});

test('a swap on an old state is repeated on the newest', async () => {
  const world = { cached: 4, stored: 6 };
  const { result, seen, reads } = run(world, swapOf(world));
  assert.equal(await result, 'written over 6');
  assert.deepEqual([seen, reads()], [[4, 6], 1]);
});

for (const [what, propose] of [
  ['an answer without a write', answer],
  ['a refusal', refuse],
] as const) {
  const outcome = (result: Promise<string | undefined>) => result.catch((error: Error) => error.message);

  test(`${what} counts when the store has the same state, and is not made again`, async () => {
    const { result, seen, reads } = run({ cached: 4, stored: 4 }, propose);
    assert.match((await outcome(result)) ?? '', / 4$/);
    assert.deepEqual([seen, reads()], [[4], 1]);
  });

  test(`${what} about an old state is made again about the newest`, async () => {
    const { result, seen } = run({ cached: 4, stored: 6 }, propose);
    assert.match((await outcome(result)) ?? '', / 6$/);
    assert.deepEqual(seen, [4, 6]);
  });

  test(`${what} about an object that is gone is made again without one`, async () => {
    const { result, seen } = run({ cached: 4, stored: undefined }, propose);
    assert.match((await outcome(result)) ?? '', / undefined$/);
    assert.deepEqual(seen, [4, undefined]);
  });
}

test('what the cache does not have is read', async () => {
  const world = { cached: undefined, stored: 6 };
  const { result, seen } = run(world, swapOf(world));
  assert.equal(await result, 'written over 6');
  assert.deepEqual(seen, [6]);
});

test('an encrypted object is read first', async () => {
  const world = { cached: 6, stored: 6, isEncrypted: true };
  const { result, reads } = run(world, swapOf(world));
  assert.equal(await result, 'written over 6');
  assert.equal(reads(), 1);
});

test('an error of the write is not taken for one of an old state', async () => {
  const { result, seen, reads } = run({ cached: 4, stored: 4 }, () => ({
    write: () => Promise.reject(new Error('unknown outcome')),
  }));
  await assert.rejects(result, /unknown outcome/);
  assert.deepEqual([seen, reads()], [[4], 0]);
});

test('a writer that others always outrun gives up', async () => {
  const { result, reads } = run({ cached: 4, stored: 6 }, () => ({ write: async () => undefined }));
  assert.equal(await result, undefined);
  assert.equal(reads(), WRITE_ATTEMPTS_MAX);
});
