import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { type CreateStore, storeContract, storeHistoryProperty } from '../contract/index.ts';
import { changesUpTo, create, pod, put, update } from '../contract/support.ts';
import { Compacted } from '../port.ts';
import { createMemoryStore } from './memory-store.ts';

const openMemoryStore: CreateStore = async (options = {}) => {
  const store = createMemoryStore(options);
  return { store, close: () => store.close() };
};

storeContract('memory', openMemoryStore);
storeHistoryProperty('memory', openMemoryStore, { runs: 300, stepsPerClient: 30 });

test('memory: history beyond its limit is compacted, and a follower that lags is notified', async () => {
  const store = createMemoryStore({ historyRevisions: 10 });
  const abort = new AbortController();
  const slow = store.changes({ after: 0, signal: abort.signal })[Symbol.asyncIterator]();
  await put(store, create(pod('a')));
  assert.equal((await slow.next()).value?.[0]?.revision, 1);
  for (let revision = 1; revision < 30; revision++) await put(store, update(pod('a'), revision));
  assert.equal(await store.compactedRevision(), 20);
  await assert.rejects(slow.next(), Compacted);
  assert.equal((await changesUpTo(store, 20, 30)).length, 10);
});

test('memory: history beyond its bytes is compacted', async () => {
  const store = createMemoryStore({ historyBytes: 10_000 });
  for (const name of ['a', 'b', 'c']) await put(store, create(pod(name), JSON.stringify('x'.repeat(4_000))));
  assert.equal(await store.compactedRevision(), 1);
});

test('memory: all up-to-date followers get the same array', async () => {
  const store = createMemoryStore();
  const { signal } = new AbortController();
  const iterators = [0, 1].map(() => store.changes({ after: 0, signal })[Symbol.asyncIterator]());
  const pending = iterators.map((iterator) => iterator.next());
  await put(store, create(pod('a')));
  const [first, second] = await Promise.all(pending);
  assert.ok(first?.value !== undefined && first.value === second?.value);
});

test('memory: the same calls take the same microtask turns and give the same answers', async () => {
  const run = async (): Promise<string> => {
    const store = createMemoryStore();
    const trace: string[] = [];
    const abort = new AbortController();
    const follow = (async () => {
      for await (const batch of store.changes({ after: 0, signal: abort.signal })) trace.push(`saw ${batch.length}`);
    })();
    const writers = ['a', 'b', 'c'].map(async (name) => {
      for (let n = 0; n < 3; n++) trace.push(JSON.stringify(await store.write([create(pod(`${name}${n}`))])));
    });
    await Promise.all(writers);
    abort.abort();
    await follow;
    return trace.join('\n');
  };
  assert.equal(await run(), await run());
});
