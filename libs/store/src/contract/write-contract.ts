import { strict as assert } from 'node:assert';
import { MAX_BATCH_OPERATIONS } from '../limits.ts';
import { StoreUnavailable } from '../port.ts';
import {
  type CreateStore,
  changesUpTo,
  committedAt,
  create,
  pod,
  put,
  remove,
  revisions,
  update,
  withStore,
} from './support.ts';

export type Define = (title: string, body: () => Promise<void>) => void;

export function writeContract(define: Define, createStore: CreateStore): void {
  compareAndSwap(define, createStore);
  batches(define, createStore);
  repeats(define, createStore);
  concurrency(define, createStore);
}

function compareAndSwap(define: Define, createStore: CreateStore): void {
  define('the first change takes revision 1 and every change the next number, whatever its key', () =>
    withStore(createStore, async (store) => {
      assert.equal(await store.currentRevision(), 0);
      assert.equal(await put(store, create(pod('a'))), 1);
      assert.equal(await put(store, create('apps/deployments/default/a')), 2);
      assert.equal(await put(store, update(pod('a'), 1)), 3);
      assert.equal(await put(store, remove(pod('a'), 3)), 4);
      assert.equal(await store.currentRevision(), 4);
    }),
  );

  define('create writes only what is absent', () =>
    withStore(createStore, async (store) => {
      await put(store, create(pod('a'), '"first"'));
      const result = await store.write([create(pod('a'), '"second"')]);
      assert.deepEqual(result, { outcome: 'exists', index: 0, currentRevision: 1 });
      assert.equal((await store.get(pod('a'))).object?.value, '"first"');
      assert.equal(await store.currentRevision(), 1, 'a refused write takes no revision');
    }),
  );

  define('update and delete write only over the expected revision', () =>
    withStore(createStore, async (store) => {
      await put(store, create(pod('a'), '"one"'));
      await put(store, update(pod('a'), 1, '"two"'));
      const conflict = { outcome: 'conflict', index: 0, currentRevision: 2 };
      assert.deepEqual(await store.write([update(pod('a'), 1)]), conflict);
      assert.deepEqual(await store.write([remove(pod('a'), 1)]), conflict);
      assert.deepEqual(await store.write([update(pod('a'), 7)]), conflict);
      assert.equal((await store.get(pod('a'))).object?.value, '"two"');
    }),
  );

  define('update and delete of what is absent answer notFound', () =>
    withStore(createStore, async (store) => {
      const notFound = { outcome: 'notFound', index: 0 };
      assert.deepEqual(await store.write([update(pod('a'), 1)]), notFound);
      assert.deepEqual(await store.write([remove(pod('a'), 1)]), notFound);
      await put(store, create(pod('a')));
      await put(store, remove(pod('a'), 1));
      assert.deepEqual(await store.write([update(pod('a'), 1)]), notFound);
    }),
  );

  define('an object created again begins a new life', () =>
    withStore(createStore, async (store) => {
      await put(store, create(pod('a'), '"old"'));
      await put(store, remove(pod('a'), 1));
      await put(store, create(pod('a'), '"new"'));
      assert.deepEqual((await store.get(pod('a'))).object, {
        key: pod('a'),
        value: '"new"',
        revision: 3,
        createRevision: 3,
      });
    }),
  );
}

function batches(define: Define, createStore: CreateStore): void {
  define('a batch takes consecutive revisions in the order of its operations', () =>
    withStore(createStore, async (store) => {
      await put(store, create(pod('a')));
      await put(store, create(pod('b')));
      const result = await store.write([create(pod('c')), update(pod('a'), 1), remove(pod('b'), 2)]);
      assert.deepEqual(result, { outcome: 'committed', firstRevision: 3, lastRevision: 5 });
      const changes = await changesUpTo(store, 2, 5);
      assert.deepEqual(
        changes.map(({ revision, kind, key }) => [revision, kind, key]),
        [
          [3, 'created', pod('c')],
          [4, 'updated', pod('a')],
          [5, 'deleted', pod('b')],
        ],
      );
    }),
  );

  define('the largest batch is written whole, and a larger one is a bug of the caller', () =>
    withStore(createStore, async (store) => {
      const operations = revisions(1, MAX_BATCH_OPERATIONS).map((n) => create(pod(`p-${n}`)));
      assert.equal(committedAt(await store.write(operations)), MAX_BATCH_OPERATIONS);
      await assert.rejects(store.write([...operations, create(pod('more'))]), { name: 'InvariantViolation' });
    }),
  );

  for (const [position, refused] of [
    ['first', 0],
    ['middle', 2],
    ['last', 4],
  ] as const) {
    define(`a batch refused at its ${position} operation leaves nothing behind`, () =>
      withStore(createStore, async (store) => {
        await put(store, create(pod('taken')));
        const operations = ['a', 'b', 'c', 'd', 'e'].map((name, index) =>
          create(pod(index === refused ? 'taken' : name)),
        );
        assert.deepEqual(await store.write(operations), { outcome: 'exists', index: refused, currentRevision: 1 });
        const page = await store.list('core/pods/');
        assert.deepEqual(
          page.objects.map((object) => object.key),
          [pod('taken')],
        );
        assert.equal(await put(store, create(pod('next'))), 2);
        assert.equal((await changesUpTo(store, 0, 2)).length, 2);
      }),
    );
  }

  define('an update refused in the middle of a batch answers its index and the revision it met', () =>
    withStore(createStore, async (store) => {
      await put(store, create(pod('a')));
      await put(store, update(pod('a'), 1));
      const conflict = await store.write([create(pod('x')), update(pod('a'), 1), create(pod('y'))]);
      assert.deepEqual(conflict, { outcome: 'conflict', index: 1, currentRevision: 2 });
      const missing = await store.write([create(pod('x')), remove(pod('z'), 1), create(pod('y'))]);
      assert.deepEqual(missing, { outcome: 'notFound', index: 1 });
      assert.equal((await store.get(pod('x'))).object, undefined);
    }),
  );

  define('an empty batch and a batch that names a key twice are refused as bugs of the caller', () =>
    withStore(createStore, async (store) => {
      await assert.rejects(store.write([]), { name: 'InvariantViolation' });
      await assert.rejects(store.write([create(pod('a')), update(pod('a'), 1)]), { name: 'InvariantViolation' });
      assert.equal(await store.currentRevision(), 0);
    }),
  );
}

function repeats(define: Define, createStore: CreateStore): void {
  define('a repeated write id answers the first result and applies nothing', () =>
    withStore(createStore, async (store) => {
      const operations = [create(pod('a')), create(pod('b'))];
      const first = await store.write(operations, { writeId: 'w-1' });
      await put(store, create(pod('other')));
      assert.deepEqual(await store.write(operations, { writeId: 'w-1' }), first);
      assert.equal(await store.currentRevision(), 3);
    }),
  );

  define('a repeated write id is recognised after its objects have changed again or gone', () =>
    withStore(createStore, async (store) => {
      const first = await store.write([create(pod('a'))], { writeId: 'w-1' });
      const deleted = await store.write([remove(pod('a'), 1)], { writeId: 'w-2' });
      assert.deepEqual(await store.write([create(pod('a'))], { writeId: 'w-1' }), first);
      assert.deepEqual(await store.write([remove(pod('a'), 1)], { writeId: 'w-2' }), deleted);
      assert.equal((await store.get(pod('a'))).object, undefined);
    }),
  );

  define('a refused write is judged afresh when its write id is repeated', () =>
    withStore(createStore, async (store) => {
      assert.equal((await store.write([update(pod('a'), 1)], { writeId: 'w-1' })).outcome, 'notFound');
      await put(store, create(pod('a')));
      assert.equal(committedAt(await store.write([update(pod('a'), 1)], { writeId: 'w-1' })), 2);
    }),
  );

  define('the same write id sent twice at once is applied once', () =>
    withStore(createStore, async (store) => {
      const results = await Promise.all(
        revisions(1, 8).map(() => store.write([create(pod('a'))], { writeId: 'same' })),
      );
      for (const result of results) assert.equal(committedAt(result), 1);
      assert.equal(await store.currentRevision(), 1);
    }),
  );
}

function concurrency(define: Define, createStore: CreateStore): void {
  define('of many writers that expect the same revision one wins', () =>
    withStore(createStore, async (store) => {
      await put(store, create(pod('a')));
      const results = await Promise.all(revisions(1, 20).map((n) => store.write([update(pod('a'), 1, String(n))])));
      assert.equal(results.filter((result) => result.outcome === 'committed').length, 1);
      assert.equal(results.filter((result) => result.outcome === 'conflict').length, 19);
    }),
  );

  define('concurrent writes take distinct revisions without a hole', () =>
    withStore(createStore, async (store) => {
      const results = await Promise.all(revisions(1, 200).map((n) => store.write([create(pod(`p-${n}`))])));
      const taken = results.map(committedAt).toSorted((a, b) => a - b);
      assert.deepEqual(taken, revisions(1, 200));
    }),
  );

  define('writes of one caller that does not wait are applied in the order of the calls', () =>
    withStore(createStore, async (store) => {
      const results = await Promise.all(revisions(1, 50).map((n) => store.write([create(pod(`p-${n}`))])));
      assert.deepEqual(results.map(committedAt), revisions(1, 50));
    }),
  );

  define('a closed store refuses everything, and closing again does nothing', () =>
    withStore(createStore, async (store) => {
      await put(store, create(pod('a')));
      await store.close();
      await store.close();
      await assert.rejects(store.write([create(pod('b'))]), StoreUnavailable);
      await assert.rejects(store.get(pod('a')), StoreUnavailable);
      await assert.rejects(store.list('core/pods/'), StoreUnavailable);
      await assert.rejects(store.currentRevision(), StoreUnavailable);
      assert.notDeepEqual(await store.health(), []);
    }),
  );
}
