import { strict as assert } from 'node:assert';
import { nextTurn } from '@holdfast/platform';
import { type Store, StoreFull, type StoreLimits, type WriteOperation } from '../port.ts';
import { type CreateStore, create, pod, put, recount, remove, update, withStore } from './support.ts';
import type { Define } from './write-contract.ts';

/** Tests the size that a store reports, and the writes it rejects when it is full. */
export function sizeContract(define: Define, createStore: CreateStore): void {
  counting(define, createStore);
  refusing(define, createStore);
  makingRoom(define, createStore);
}

function counting(define: Define, createStore: CreateStore): void {
  define('the size counts objects and kept history exactly, whatever is written, refused, deleted and compacted', () =>
    withStore(createStore, async (store) => {
      await expectExact(store);
      const texts = ['{}', text(3_000), '"gr\u00f6\u00dfe \u65e5\u672c \ud83d\ude80"', text(10)];
      const revisions = new Map<string, number>();
      for (let step = 0; step < 60; step++) {
        const key = pod(`p-${(step * 7) % 11}`);
        const value = texts[step % texts.length] ?? '';
        const known = revisions.get(key);
        const operation = nextOperation(step, key, { value, known });
        const revision = await put(store, operation);
        if (operation.kind === 'delete') revisions.delete(key);
        else revisions.set(key, revision);
        if (step % 10 === 3) await store.write([create(pod('never')), update(pod('absent'), 1)]);
        if (step % 15 === 14) await store.compact(revision - 4);
        if (step % 5 === 0) await expectExact(store);
      }
      await expectExact(store);
      await store.compact(await store.currentRevision());
      await expectExact(store);
      assert.equal(store.usage().historyBytes, 0);
    }),
  );

  define('the size counts a batch, and a write that is repeated under its id only once', () =>
    withStore(createStore, async (store) => {
      const batch = [create(pod('a'), text(100)), create(pod('b'), text(200))];
      await store.write(batch, { writeId: 'w-1' });
      await store.write(batch, { writeId: 'w-1' });
      await store.write([update(pod('a'), 1, text(50)), remove(pod('b'), 2), create(pod('c'))]);
      await expectExact(store);
    }),
  );

  define('writes that come together are counted together', () =>
    withStore(createStore, async (store) => {
      await Promise.all(Array.from({ length: 50 }, (_, n) => store.write([create(pod(`p-${n}`), text(n * 10))])));
      await expectExact(store);
    }),
  );
}

function nextOperation(step: number, key: string, { value, known }: { value: string; known: number | undefined }) {
  if (known === undefined) return create(key, value);
  return step % 3 === 0 ? remove(key, known, value) : update(key, known, value);
}

const LIMITS: StoreLimits = { bytes: 100_000, reserveBytes: 20_000 };

function refusing(define: Define, createStore: CreateStore): void {
  const full = (body: (store: Store) => Promise<void>): Promise<void> =>
    withStore(
      createStore,
      async (store) => {
        await fill(store);
        await body(store);
      },
      LIMITS,
    );

  define('a store at its limit refuses what makes it larger, and nothing of it is written', () =>
    full(async (store) => {
      const before = await store.currentRevision();
      await assert.rejects(store.write([create(pod('more'), text(3_000))]), StoreFull);
      await assert.rejects(store.write([update(pod('p-0'), 1, text(6_000))]), StoreFull);
      await assert.rejects(store.write([create(pod('x')), create(pod('more'), text(3_000))]), StoreFull);
      assert.equal(await store.currentRevision(), before);
      assert.deepEqual(await store.health(), []);
      assert.match(store.cautions?.().join() ?? '', /the store is (nearly )?full: \d+ of 100000 bytes are used/);
      await expectExact(store);
    }),
  );

  define('writes that come together do not pass the limit together', () =>
    full(async (store) => {
      const { reserveBytes, bytes } = LIMITS;
      const write = (n: number) => store.write([create(pod(`many-${n}`), text(1_000))]).catch(() => undefined);
      await Promise.all(Array.from({ length: 50 }, (_, n) => write(n)));
      const { objectBytes, historyBytes } = store.usage();
      assert.ok(objectBytes + historyBytes <= bytes, `${objectBytes + historyBytes} bytes, ${reserveBytes} in reserve`);
    }),
  );

  define(
    'beyond the limit the reserve is there for the system, half of it for what releases, and deletions always pass',
    () =>
      full(async (store) => {
        const rooms = { ordinary: 0, releasing: 0, system: 0 };
        for (const room of ['ordinary', 'releasing', 'system'] as const) {
          for (let n = 0; n < 40; n++) {
            const written = store.write([create(pod(`${room}-${n}`), text(400))], { room });
            rooms[room] += await written.then(
              () => 1,
              () => 0,
            );
          }
        }
        assert.ok(rooms.releasing > 0 && rooms.system > 0, JSON.stringify(rooms));
        const { objectBytes, historyBytes } = store.usage();
        assert.ok(objectBytes + historyBytes <= LIMITS.bytes + LIMITS.reserveBytes);
        await assert.rejects(store.write([create(pod('last'), text(3_000))], { room: 'system' }), StoreFull);
        const { object } = await store.get(pod('p-0'));
        await put(store, remove(pod('p-0'), object?.revision ?? 0, text(5_000)));
        await expectExact(store);
      }),
  );

  define('an object that becomes smaller is written although the store is full', () =>
    full(async (store) => {
      const { object } = await store.get(pod('p-0'));
      await put(store, update(pod('p-0'), object?.revision ?? 0, '{}'));
    }),
  );
}

function makingRoom(define: Define, createStore: CreateStore): void {
  define('what was deleted makes room again, without anybody asking for a compaction', () =>
    withStore(
      createStore,
      async (store) => {
        await fill(store);
        for (const { key, revision, value } of (await store.list('core/pods/')).objects) {
          await put(store, remove(key, revision, value));
        }
        await patiently(store, create(pod('after'), text(20_000)));
        assert.deepEqual(store.cautions?.() ?? [], []);
        await expectExact(store);
      },
      LIMITS,
    ),
  );

  define('objects that only change never fill the store: history gives way', () =>
    withStore(
      createStore,
      async (store) => {
        let revision = await put(store, create(pod('a'), text(5_000)));
        for (let n = 0; n < 60; n++) revision = await patiently(store, update(pod('a'), revision, text(5_000)));
        assert.ok((await store.compactedRevision()) > 0);
        await expectExact(store);
      },
      LIMITS,
    ),
  );
}

/** Repeats a rejected write, because durable stores compact in the background. */
async function patiently(store: Store, operation: WriteOperation): Promise<number> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await put(store, operation);
    } catch (error) {
      if (!(error instanceof StoreFull) || attempt >= ATTEMPTS_MAX) throw error;
      await nextTurn();
    }
  }
}

const ATTEMPTS_MAX = 10_000;

const text = (length: number): string => JSON.stringify('x'.repeat(length));

/** Writes until the store rejects another kilobyte. */
async function fill(store: Store): Promise<void> {
  let refused = 0;
  for (let n = 0; refused < 50; n++) {
    const length = refused === 0 ? 5_000 : 1_000;
    try {
      await put(store, create(pod(`p-${n}`), text(length)));
    } catch (error) {
      if (!(error instanceof StoreFull)) throw error;
      refused += 1;
      await nextTurn();
    }
  }
}

/** Repeats the comparison when a durable store compacts between the reads. */
async function expectExact(store: Store): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const { objectBytes, historyBytes } = store.usage();
    const counted = await recount(store).catch(() => undefined);
    const isExact = counted?.objectBytes === objectBytes && counted.historyBytes === historyBytes;
    if (isExact) return;
    if (attempt >= RECOUNTS_MAX) assert.deepEqual({ objectBytes, historyBytes }, counted);
  }
}

const RECOUNTS_MAX = 20;
