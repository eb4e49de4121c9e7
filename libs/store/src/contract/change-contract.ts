import { strict as assert } from 'node:assert';
import { type Change, Compacted, type Store, StoreHalted, StoreUnavailable } from '../port.ts';
import { type CreateStore, changesUpTo, create, pod, put, remove, revisions, update, withStore } from './support.ts';
import type { Define } from './write-contract.ts';

export function changeContract(define: Define, createStore: CreateStore): void {
  content(define, createStore);
  following(define, createStore);
  ending(define, createStore);
  compaction(define, createStore);
  lineage(define, createStore);
}

function lineage(define: Define, createStore: CreateStore): void {
  define('each revision tells which write took it, until it was compacted', () =>
    withStore(createStore, async (store) => {
      await store.write([create(pod('a')), create(pod('b'))], { writeId: 'w-1' });
      await put(store, create(pod('c')));
      await put(store, create(pod('d')));
      const ids = await Promise.all(revisions(1, 5).map((revision) => store.writeIdAt(revision)));
      assert.deepEqual(ids.slice(0, 2), ['w-1', 'w-1']);
      assert.equal(new Set(ids.slice(1, 4)).size, 3, 'writes without an id of their caller differ, too');
      assert.ok(ids[2] !== undefined && ids[2] !== '');
      assert.equal(ids[4], undefined, 'still to come');
      await store.compact(2);
      await assert.rejects(store.writeIdAt(2), Compacted);
      assert.equal(await store.writeIdAt(3), ids[2]);
    }),
  );

  define('a halted store refuses every read and write, ends its followers, and says why and what to do', () =>
    withStore(createStore, async (store) => {
      await put(store, create(pod('a')));
      const follower = assert.rejects(changesUpTo(store, 1, 2), StoreHalted);
      assert.equal(store.haltedBy(), undefined);
      store.halt('two histories');
      assert.equal(store.haltedBy(), 'two histories');
      await follower;
      const calls = [
        () => store.get(pod('a')),
        () => store.list('core/'),
        () => store.currentRevision(),
        () => store.write([create(pod('b'))]),
      ];
      for (const call of calls)
        await assert.rejects(call, { name: 'StoreUnavailable', message: /two histories.*adopt/ });
      assert.match((await store.health()).join(), /two histories/);
    }),
  );
}

function content(define: Define, createStore: CreateStore): void {
  define('changes tell kind, key, state and the revision they replace; a deletion carries the last state', () =>
    withStore(createStore, async (store) => {
      await put(store, create(pod('a'), '"one"'));
      await put(store, update(pod('a'), 1, '"two"'));
      await put(store, remove(pod('a'), 2, '"last"'));
      await put(store, create(pod('a'), '"again"'));
      const changes = await changesUpTo(store, 0, 4);
      assert.deepEqual(changes.map(withoutPreviousValue), [
        { revision: 1, kind: 'created', key: pod('a'), value: '"one"', previousRevision: 0 },
        { revision: 2, kind: 'updated', key: pod('a'), value: '"two"', previousRevision: 1 },
        { revision: 3, kind: 'deleted', key: pod('a'), value: '"last"', previousRevision: 2 },
        { revision: 4, kind: 'created', key: pod('a'), value: '"again"', previousRevision: 0 },
      ]);
      const before = [undefined, '"one"', '"two"', undefined];
      for (const [index, change] of changes.entries()) {
        const { previousValue } = change;
        assert.ok(previousValue === undefined || previousValue === before[index], 'the state before, or absent');
      }
    }),
  );
}

function following(define: Define, createStore: CreateStore): void {
  define('changes begin after any kept revision and go on live, without gap or double', () =>
    withStore(createStore, async (store) => {
      for (const n of revisions(1, 10)) await put(store, create(pod(`p-${n}`)));
      const followers = revisions(0, 10).map((after) => changesUpTo(store, after, 40));
      for (const n of revisions(11, 40)) await put(store, create(pod(`p-${n}`)));
      for (const [after, changes] of (await Promise.all(followers)).entries()) {
        assert.deepEqual(revisionsOf(changes), revisions(after + 1, 40));
      }
    }),
  );

  define('a follower of a revision still to come waits for it', () =>
    withStore(createStore, async (store) => {
      await put(store, create(pod('a')));
      const follower = changesUpTo(store, 3, 6);
      for (const n of revisions(2, 6)) await put(store, create(pod(`p-${n}`)));
      assert.deepEqual(revisionsOf(await follower), [4, 5, 6]);
    }),
  );

  define('a slow follower misses nothing and holds nobody up', () =>
    withStore(createStore, async (store) => {
      const abort = new AbortController();
      const slow = store.changes({ after: 0, signal: abort.signal })[Symbol.asyncIterator]();
      await put(store, create(pod('p-1')));
      const first = await slow.next();
      for (const n of revisions(2, 300)) await put(store, create(pod(`p-${n}`)));
      assert.equal((await changesUpTo(store, 0, 300)).length, 300);
      const seen = [...(first.value ?? [])];
      while (seen.length < 300) seen.push(...((await slow.next()).value ?? []));
      assert.deepEqual(revisionsOf(seen), revisions(1, 300));
      abort.abort();
      assert.equal((await slow.next()).done, true);
    }),
  );

  define('what followers see is what was written, in one order for all of them', () =>
    withStore(createStore, async (store) => {
      const followers = revisions(1, 5).map(() => changesUpTo(store, 0, 100));
      const writes = revisions(1, 100).map((n) => store.write([create(pod(`p-${n}`), String(n))]));
      const results = await Promise.all(writes);
      const expected = new Map(
        results.map((result, index) => [
          result.outcome === 'committed' ? result.firstRevision : 0,
          [pod(`p-${index + 1}`), String(index + 1)],
        ]),
      );
      for (const changes of await Promise.all(followers)) {
        assert.deepEqual(new Map(changes.map(({ revision, key, value }) => [revision, [key, value]])), expected);
      }
    }),
  );
}

function ending(define: Define, createStore: CreateStore): void {
  define('an abort ends a waiting iterator without error', () =>
    withStore(createStore, async (store) => {
      const abort = new AbortController();
      const iterator = store.changes({ after: 0, signal: abort.signal })[Symbol.asyncIterator]();
      const pending = iterator.next();
      abort.abort();
      assert.equal((await pending).done, true);
    }),
  );

  define('an iterator of an aborted signal ends at once', () =>
    withStore(createStore, async (store) => {
      await put(store, create(pod('a')));
      const iterator = store.changes({ after: 0, signal: AbortSignal.abort() })[Symbol.asyncIterator]();
      assert.equal((await iterator.next()).done, true);
    }),
  );

  define('a consumer may leave the loop, and others go on', () =>
    withStore(createStore, async (store) => {
      const { signal } = new AbortController();
      const other = changesUpTo(store, 0, 2);
      await put(store, create(pod('a')));
      for await (const batch of store.changes({ after: 0, signal })) {
        assert.equal(batch[0]?.revision, 1);
        break;
      }
      await put(store, create(pod('b')));
      assert.deepEqual(revisionsOf(await other), [1, 2]);
    }),
  );

  define('closing the store ends its followers with an error, because nobody aborted them', () =>
    withStore(createStore, async (store) => {
      const { signal } = new AbortController();
      const pending = store.changes({ after: 0, signal })[Symbol.asyncIterator]().next();
      const ended = assert.rejects(pending, StoreUnavailable);
      await store.close();
      await ended;
    }),
  );
}

function compaction(define: Define, createStore: CreateStore): void {
  define('below the kept history changes throw Compacted, at its edge they begin', () =>
    withStore(createStore, async (store) => {
      for (const n of revisions(1, 20)) await put(store, create(pod(`p-${n}`)));
      assert.equal(await store.compactedRevision(), 0);
      await store.compact(12);
      assert.equal(await store.compactedRevision(), 12);
      for (const after of [0, 11]) {
        await assert.rejects(
          changesUpTo(store, after, 20),
          (error) => error instanceof Compacted && error.compactedRevision === 12,
        );
      }
      assert.deepEqual(revisionsOf(await changesUpTo(store, 12, 20)), revisions(13, 20));
    }),
  );

  define('compaction keeps every object', () =>
    withStore(createStore, async (store) => {
      for (const n of revisions(1, 20)) await put(store, create(pod(`p-${n}`), String(n)));
      await store.compact(20);
      assert.equal((await store.list('core/pods/')).objects.length, 20);
      assert.equal((await store.get(pod('p-3'))).object?.value, '3');
      assert.equal(await put(store, update(pod('p-3'), 3)), 21);
      assert.deepEqual(revisionsOf(await changesUpTo(store, 20, 21)), [21]);
    }),
  );

  define('the compacted revision only grows and never passes the current one', () =>
    withStore(createStore, async (store) => {
      for (const n of revisions(1, 10)) await put(store, create(pod(`p-${n}`)));
      await store.compact(6);
      await store.compact(2);
      assert.equal(await store.compactedRevision(), 6);
      await store.compact(1000);
      assert.equal(await store.compactedRevision(), 10);
      assert.equal(await put(store, create(pod('next'))), 11);
      assert.deepEqual(revisionsOf(await changesUpTo(store, 10, 11)), [11]);
    }),
  );

  define('a follower that is up to date is not disturbed by compaction', () =>
    withStore(createStore, async (store) => {
      const abort = new AbortController();
      const live = store.changes({ after: 0, signal: abort.signal })[Symbol.asyncIterator]();
      await put(store, create(pod('a')));
      assert.deepEqual(revisionsOf((await live.next()).value ?? []), [1]);
      await store.compact(1);
      const pending = live.next();
      await put(store, create(pod('b')));
      assert.deepEqual(revisionsOf((await pending).value ?? []), [2]);
      abort.abort();
      assert.equal((await live.next()).done, true);
      await assertCompactedFrom(store, 0);
    }),
  );
}

async function assertCompactedFrom(store: Store, after: number): Promise<void> {
  await assert.rejects(changesUpTo(store, after, after + 1), Compacted);
}

function revisionsOf(changes: readonly Change[]): number[] {
  return changes.map((change) => change.revision);
}

function withoutPreviousValue({ revision, kind, key, value, previousRevision }: Change): Change {
  return { revision, kind, key, value, previousRevision };
}
