import { strict as assert } from 'node:assert';
import type { ListPage, Store, StoreKey } from '../port.ts';
import { type CreateStore, committedAt, create, pod, put, remove, revisions, update, withStore } from './support.ts';
import type { Define } from './write-contract.ts';

const MEGABYTE = 1024 * 1024;

export function readContract(define: Define, createStore: CreateStore): void {
  singleObjects(define, createStore);
  lists(define, createStore);
  freshness(define, createStore);
}

function singleObjects(define: Define, createStore: CreateStore): void {
  define('get answers the object with the revisions of its creation and last change', () =>
    withStore(createStore, async (store) => {
      assert.deepEqual(await store.get(pod('a')), { revision: 0, object: undefined });
      await put(store, create(pod('a'), '"one"'));
      await put(store, create(pod('b')));
      await put(store, update(pod('a'), 1, '"three"'));
      await put(store, create(pod('c')));
      const { revision, object } = await store.get(pod('a'));
      assert.equal(revision, 4);
      assert.deepEqual(object, { key: pod('a'), value: '"three"', revision: 3, createRevision: 1 });
      assert.deepEqual(await store.get(pod('absent')), { revision: 4, object: undefined });
    }),
  );

  for (const [what, value] of [
    ['unicode', JSON.stringify({ text: 'žluťoučký 漢字 😀 \u0000 \ud800 "quotes" \\ \n' })],
    ['__proto__ as a key', '{"__proto__":{"polluted":true},"constructor":1}'],
    ['one megabyte', JSON.stringify({ text: 'x'.repeat(MEGABYTE) })],
  ] as const) {
    define(`a value with ${what} comes back as it went in`, () =>
      withStore(createStore, async (store) => {
        await put(store, create(pod('a'), value));
        assert.ok((await store.get(pod('a'))).object?.value === value, 'get');
        assert.ok((await store.list('core/pods/')).objects[0]?.value === value, 'list');
        await put(store, update(pod('a'), 1, value));
        assert.ok((await store.get(pod('a'))).object?.value === value, 'get after update');
      }),
    );
  }

  define('a key that is a property name of objects is an ordinary key', () =>
    withStore(createStore, async (store) => {
      for (const name of ['__proto__', 'constructor', 'toString']) {
        assert.equal((await store.get(pod(name))).object, undefined);
        await put(store, create(pod(name), `"${name}"`));
        assert.equal((await store.get(pod(name))).object?.value, `"${name}"`);
      }
      assert.equal((await store.list('core/pods/')).objects.length, 3);
    }),
  );
}

function lists(define: Define, createStore: CreateStore): void {
  define('list answers the keys of a prefix in order, with the revision of the snapshot', () =>
    withStore(createStore, async (store) => {
      const keys = [pod('b'), pod('a'), pod('z', 'alpha'), 'core/podtemplates/default/a', 'apps/deployments/default/a'];
      for (const key of keys) await put(store, create(key));
      await put(store, create(pod('gone')));
      await put(store, remove(pod('gone'), 6));
      const page = await store.list('core/pods/');
      assert.deepEqual(keysOf(page), [pod('z', 'alpha'), pod('a'), pod('b')]);
      assert.equal(page.revision, 7);
      assert.equal(page.more, false);
      assert.deepEqual(keysOf(await store.list('core/pods/default/')), [pod('a'), pod('b')]);
      assert.deepEqual(keysOf(await store.list('core/nodes/')), []);
      assert.deepEqual(keysOf(await store.list('')), keys.toSorted());
    }),
  );

  define('pages join to the whole list, and the last one says that nothing remains', () =>
    withStore(createStore, async (store) => {
      const names = revisions(100, 123).map(String);
      for (const name of names.toReversed()) await put(store, create(pod(name)));
      await put(store, create('core/secrets/default/a'));
      for (const limit of [1, 5, 8, 24, 25]) {
        const pages = await readPages(store, 'core/pods/', limit);
        assert.deepEqual(
          pages.flatMap(keysOf),
          names.map((name) => pod(name)),
          `limit ${limit}`,
        );
        assert.equal(pages.length, Math.ceil(24 / limit), `limit ${limit}`);
      }
    }),
  );

  define('a page begins after its key, also when that object is gone by now', () =>
    withStore(createStore, async (store) => {
      for (const name of ['a', 'b', 'c', 'd']) await put(store, create(pod(name)));
      await put(store, remove(pod('b'), 2));
      assert.deepEqual(keysOf(await store.list('core/pods/', { after: pod('b') })), [pod('c'), pod('d')]);
      const page = await store.list('core/pods/', { after: pod('a'), limit: 1 });
      assert.deepEqual(keysOf(page), [pod('c')]);
      assert.equal(page.more, true);
      assert.deepEqual(keysOf(await store.list('core/pods/', { after: pod('d') })), []);
    }),
  );

  define('a large list is complete and one snapshot while writers go on', () =>
    withStore(createStore, async (store) => {
      const names = revisions(1000, 2499).map(String);
      for (let at = 0; at < names.length; at += 100) {
        await store.write(names.slice(at, at + 100).map((name) => create(pod(name))));
      }
      const written: number[] = [];
      const writer = async (client: number): Promise<void> => {
        for (let index = client; index < 200; index += 4) {
          written[index] = committedAt(await store.write([update(pod(names[index] ?? ''), index + 1, '"new"')]));
        }
      };
      const [page] = await Promise.all([store.list('core/pods/'), ...[0, 1, 2, 3].map(writer)]);
      assert.equal(page.objects.length, names.length);
      const newest = Math.max(...page.objects.map((object) => object.revision));
      assert.ok(newest <= page.revision, 'nothing in the list is newer than its snapshot');
      for (const [index, revision] of written.entries()) {
        const object = page.objects[index];
        const visible = revision <= page.revision;
        assert.equal(object?.revision === revision, visible, `write of revision ${revision} in list ${page.revision}`);
      }
    }),
  );
}

function freshness(define: Define, createStore: CreateStore): void {
  define('a read that begins after an acknowledged write sees it', () =>
    withStore(createStore, async (store) => {
      for (const n of revisions(1, 30)) {
        const revision = await put(store, create(pod(`p-${n}`)));
        const [current, one, all] = await Promise.all([
          store.currentRevision(),
          store.get(pod(`p-${n}`)),
          store.list('core/pods/'),
        ]);
        assert.ok(current >= revision);
        assert.equal(one.object?.revision, revision);
        assert.equal(all.objects.length, n);
      }
    }),
  );

  define('the revision a reader sees never decreases', () =>
    withStore(createStore, async (store) => {
      const writes = revisions(1, 100).map((n) => store.write([create(pod(`p-${n}`))]));
      let last = 0;
      for (let reads = 0; reads < 30; reads++) {
        const { revision } = await store.get(pod('p-1'));
        const current = await store.currentRevision();
        assert.ok(revision >= last && current >= revision);
        last = current;
      }
      await Promise.all(writes);
    }),
  );

  define('a store that serves reports no complaint', () =>
    withStore(createStore, async (store) => {
      assert.deepEqual(await store.health(), []);
    }),
  );
}

function keysOf(page: ListPage): StoreKey[] {
  return page.objects.map((object) => object.key);
}

async function readPages(store: Store, prefix: string, limit: number): Promise<ListPage[]> {
  const pages: ListPage[] = [];
  let after: StoreKey | undefined;
  for (;;) {
    const page = await store.list(prefix, after === undefined ? { limit } : { limit, after });
    pages.push(page);
    if (!page.more) return pages;
    after = page.objects.at(-1)?.key;
    assert.ok(after !== undefined, 'a page that promises more is not empty');
  }
}
