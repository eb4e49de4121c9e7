import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import type { KubeObject } from '@holdfast/api';
import { InvariantViolation } from '@holdfast/platform';
import { heapLimitBytes } from '@holdfast/platform/heap-limit';
import type { Change } from '@holdfast/store';
import { CacheEvent } from './cache-event.ts';
import { CachedObject } from './cached-object.ts';
import { EventHistory } from './event-history.ts';
import { ObjectIndex } from './object-index.ts';
import { bytesBudget, type Keeper, ParsedBudget } from './parsed-budget.ts';
import { ResourceCache } from './resource-cache.ts';
import type { Selection } from './selection.ts';
import { encodeStored, withRevision } from './stored-json.ts';
import { shareFrame, Watcher } from './watcher.ts';

const EVERYTHING: Selection = { namespace: undefined, exactName: undefined, exactField: undefined, matches: undefined };

const stored = (name: string, labels: Readonly<Record<string, string>> = {}): string =>
  encodeStored({ apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'a', labels } });

const keyOf = (name: string): string => `core/pods/a/${name}`;

const change = (revision: number, kind: Change['kind'], name: string): Change => ({
  revision,
  kind,
  key: keyOf(name),
  value: stored(name),
  previousRevision: 0,
});

function watcherOf(selection: Partial<Selection>, queueFramesMax = 3): { watcher: Watcher; ended: () => number } {
  let ends = 0;
  const onEnd = (): void => {
    ends += 1;
  };
  const all = { ...EVERYTHING, ...selection };
  const watcher = new Watcher({ selection: all, after: 0, queueFramesMax, render: shareFrame, onEnd });
  return { watcher, ended: () => ends };
}

test('the revision is spliced into the text', () => {
  for (const text of [stored('x'), '{"kind":"A","apiVersion":"v1","metadata":{}}']) {
    const sent = withRevision(text, 7);
    assert.equal((JSON.parse(sent) as { metadata: { resourceVersion: string } }).metadata.resourceVersion, '7');
  }
});

test('an object that contains the word "metadata" in its content is spliced at its own metadata', () => {
  const object = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'x' },
    data: { '"metadata":{': '"metadata":{' },
  };
  const sent = JSON.parse(withRevision(encodeStored(object), 3)) as typeof object;
  assert.deepEqual(sent, { ...object, metadata: { resourceVersion: '3', name: 'x' } });
});

test('the length of an object, and its lent bytes, match its bytes', () => {
  const long = 'ü'.repeat(100_000);
  const texts = [stored('x'), stored('x', { ü: '€' }), stored('x', { long }), '{"kind":"A","metadata":{}}'];
  for (const text of texts) {
    for (const revision of [0, 5, 12_345]) {
      const make = (): CachedObject => new CachedObject(keyOf('x'), text, revision);
      const [object, lender] = [make(), make()];
      assert.equal(object.byteLength, object.bytes.length);
      assert.ok(lender.lend().equals(object.bytes));
      assert.equal(lender.keptBytes, 0);
      assert.deepEqual(JSON.parse(object.bytes.toString()), object.object);
      assert.ok(object.bytes.toString('utf8', object.metadataAt).startsWith('"metadata":{'));
    }
  }
});

test('an object returns its bytes also when the full budget drops them at once', () => {
  const object = new CachedObject(keyOf('x'), stored('x'), 1);
  const keeper: Keeper = {
    shrinkTo: () => {
      object.forgetBytes();
      return 0;
    },
  };
  bytesBudget.join(keeper);
  try {
    for (const make of [() => object.bytes, () => object.encoded(() => Buffer.from('y'))]) {
      // Overflows, which empties the budget; then fills it to the brim.
      bytesBudget.keep(heapLimitBytes());
      bytesBudget.keep(heapLimitBytes() / 16);
      assert.ok(make().length > 0);
      assert.equal(object.keptBytes, 0);
    }
  } finally {
    bytesBudget.leave(keeper);
  }
});

test('a current state keeps its bytes while its event is young, and when somebody asks again', () => {
  const ring = new EventHistory(1_000, 0);
  const object = new CachedObject(keyOf('x'), stored('x'), 1);
  ring.push(new CacheEvent('created', object, undefined));
  const { bytes } = object;
  for (let revision = 2; revision <= 64; revision++) ring.push(largeEvent(revision, 10));
  assert.equal(object.bytes, bytes);
  ring.push(largeEvent(65, 10));
  assert.equal(object.keptBytes, 0);
  assert.ok(object.bytes.equals(bytes));
  assert.equal(object.keptBytes, bytes.length);
});

test('the ring knows from where on it is complete', () => {
  const ring = new EventHistory(3, 0);
  const event = (revision: number): CacheEvent =>
    new CacheEvent('created', new CachedObject(keyOf('x'), stored('x'), revision), undefined);
  for (let revision = 1; revision <= 10; revision++) ring.push(event(revision));
  assert.equal(ring.completeAfter, 7);
  assert.deepEqual(
    ring.since(7)?.map((each) => each.revision),
    [8, 9, 10],
  );
  assert.deepEqual(ring.since(10), []);
  assert.equal(ring.since(6), undefined);
});

test('an event that is not newer than the history is refused', () => {
  const history = new EventHistory(3, 5);
  assert.throws(() => history.push(largeEvent(5, 10)), InvariantViolation);
  history.push(largeEvent(6, 10));
  assert.throws(() => history.push(largeEvent(6, 10)), InvariantViolation);
});

test('a budget refuses a size that is no number', () => {
  const budget = new ParsedBudget(100);
  assert.throws(() => budget.keep(Number.NaN), InvariantViolation);
});

/** An event of an object whose text takes this many bytes. */
const largeEvent = (revision: number, bytes: number): CacheEvent =>
  new CacheEvent('created', new CachedObject(keyOf(`l${revision}`), 'x'.repeat(bytes), revision), undefined);

test('the ring forgets early when its events are large', () => {
  const ring = new EventHistory(100, 0, 1_000);
  for (const revision of [1, 2, 3, 4]) ring.push(largeEvent(revision, 400));
  assert.equal(ring.completeAfter, 2);
  assert.deepEqual(
    ring.since(2)?.map((event) => event.revision),
    [3, 4],
  );
  assert.equal(ring.since(1), undefined);
  ring.push(largeEvent(5, 2_000));
  assert.deepEqual([ring.completeAfter, ring.since(5)], [5, []]);
});

test('the ring lets go of what the writer left when it forgets an event', () => {
  const ring = new EventHistory(100, 0, 1_000);
  const text = stored('x', { a: 'b'.repeat(400) });
  const objects = [1, 2, 3, 4].map((revision) => {
    const written = JSON.parse(text) as KubeObject;
    const object = new CachedObject(keyOf('x'), text, revision, written);
    ring.push(new CacheEvent('created', object, undefined));
    return { object, labels: written.metadata.labels };
  });
  const isStillTheWriters = objects.map(({ object, labels }) => object.object.metadata.labels === labels);
  assert.deepEqual(isStillTheWriters, [false, false, true, true]);
  for (const { object, labels } of objects) assert.deepEqual(object.object.metadata.labels, labels);
});

test('an evicted event reads the same as when it was new', () => {
  const cache = new ResourceCache(0, () => ({}));
  for (let revision = 1; revision <= 200; revision++) {
    cache.apply(change(revision, revision === 1 ? 'created' : 'updated', 'p'));
    assert.equal(cache.get(keyOf('p'))?.object.metadata.resourceVersion, String(revision));
  }
  const events = cache.since(0) ?? [];
  const said = events.map((each) => (each.frame('MODIFIED').value() as { object: KubeObject }).object.metadata);
  assert.deepEqual(
    said.map((metadata) => metadata.resourceVersion),
    events.map((each) => String(each.revision)),
  );
});

test('a watcher that does not read is cut off when its queued bytes exceed the limit', () => {
  const { watcher, ended } = watcherOf({}, 1_000);
  for (let revision = 1; revision <= 33; revision += 1) watcher.offer(largeEvent(revision, 1024 * 1024));
  assert.equal(ended(), 1);
  const reading = watcherOf({}, 1_000);
  const frames = reading.watcher[Symbol.asyncIterator]();
  for (let revision = 1; revision <= 40; revision += 1) {
    reading.watcher.offer(
      new CacheEvent('created', new CachedObject(keyOf('l'), stored('l').padEnd(1024 * 1024), revision), undefined),
    );
    void frames.next();
  }
  assert.equal(reading.ended(), 0);
});

test('a watcher that does not read is cut off when its queue is full, and releases its memory', async () => {
  const { watcher, ended } = watcherOf({});
  const cache = new ResourceCache(0, () => ({}));
  cache.addWatcher(watcher);
  for (let revision = 1; revision <= 4; revision++) cache.apply(change(revision, 'created', `p${revision}`));
  assert.equal(ended(), 1);
  assert.equal((await watcher[Symbol.asyncIterator]().next()).done, true);
});

test('a change is offered only to watchers that may match it', () => {
  const cache = new ResourceCache(0, () => ({ 'spec.nodeName': () => 'n1' }));
  const offered: string[] = [];
  const add = (name: string, selection: Partial<Selection>): void => {
    const { watcher } = watcherOf(selection);
    watcher.offer = () => offered.push(name);
    cache.addWatcher(watcher);
  };
  add('all', {});
  add('namespace a', { namespace: 'a' });
  add('namespace b', { namespace: 'b' });
  add('name p1', { exactName: 'p1' });
  add('name p2', { exactName: 'p2' });
  add('node n1', { exactField: { field: 'spec.nodeName', value: 'n1' } });
  add('node n2', { exactField: { field: 'spec.nodeName', value: 'n2' } });
  cache.apply(change(1, 'created', 'p1'));
  assert.deepEqual(offered, ['all', 'namespace a', 'name p1', 'node n1']);
});

test('a list at an earlier revision undoes later changes', () => {
  const cache = new ResourceCache(0, () => ({}));
  cache.apply(change(1, 'created', 'a'));
  cache.apply(change(2, 'created', 'c'));
  cache.apply(change(3, 'deleted', 'a'));
  cache.apply(change(4, 'created', 'b'));
  cache.apply(change(5, 'updated', 'c'));
  const names = (atRevision: number): readonly string[] | undefined =>
    cache.list({ selection: EVERYTHING, atRevision })?.objects.map((each) => `${each.name}@${each.revision}`);
  assert.deepEqual(names(2), ['a@1', 'c@2']);
  assert.deepEqual(names(3), ['c@2']);
  assert.deepEqual(names(5), ['b@4', 'c@5']);
});

test('a list that a caller holds stays unchanged; the next one contains the later changes', () => {
  const cache = new ResourceCache(0, () => ({}));
  const names = (namespace?: string): readonly string[] | undefined =>
    cache.list({ selection: { ...EVERYTHING, namespace } })?.objects.map((each) => `${each.name}@${each.revision}`);
  for (const [i, name] of ['d', 'b', 'a', 'c'].entries()) cache.apply(change(i + 1, 'created', name));
  const held = cache.list({ selection: EVERYTHING })?.objects;
  assert.deepEqual(names('a'), ['a@3', 'b@2', 'c@4', 'd@1']);
  cache.apply(change(5, 'updated', 'b'));
  cache.apply(change(6, 'deleted', 'd'));
  cache.apply(change(7, 'created', 'aa'));
  assert.deepEqual(
    held?.map((each) => each.name),
    ['a', 'b', 'c', 'd'],
  );
  assert.deepEqual(names('a'), ['a@3', 'aa@7', 'b@5', 'c@4']);
  assert.deepEqual([names(), names('elsewhere')], [names('a'), []]);
});

test('a change that was already applied is not applied again', () => {
  const cache = new ResourceCache(0, () => ({}));
  cache.apply(change(2, 'created', 'a'));
  const version = cache.version;
  cache.apply(change(1, 'created', 'a'));
  assert.deepEqual([cache.version, cache.get(keyOf('a'))?.revision], [version, 2]);
});

test('a list by an indexed field follows every change of the field', () => {
  const cache = new ResourceCache(0, () => ({ node: (object) => object.metadata.labels?.['node'] ?? '' }));
  const put = (revision: number, kind: Change['kind'], name: string, node: string): void =>
    cache.apply({ revision, kind, key: keyOf(name), value: stored(name, { node }), previousRevision: 0 });
  const on = (node: string): readonly string[] | undefined => {
    const selection = { ...EVERYTHING, exactField: { field: 'node', value: node } };
    return cache.list({ selection })?.objects.map((each) => each.name);
  };
  put(1, 'created', 'b', 'n1');
  assert.deepEqual(on('n1'), ['b']);
  put(2, 'created', 'a', 'n1');
  put(3, 'created', 'c', '');
  put(4, 'updated', 'c', 'n2');
  assert.deepEqual([on('n1'), on('n2'), on('')], [['a', 'b'], ['c'], []]);
  put(5, 'deleted', 'a', 'n1');
  assert.deepEqual([on('n1'), on('nowhere')], [['b'], []]);
});

test('the initial state does not count against a watcher that keeps up', async () => {
  const { watcher, ended } = watcherOf({}, 3);
  const objects = Array.from({ length: 10 }, (_, i) => new CachedObject(keyOf(`p${i}`), stored(`p${i}`), i + 1));
  watcher.offerInitial(objects);
  for (let revision = 11; revision <= 13; revision++) {
    watcher.offer(new CacheEvent('created', new CachedObject(keyOf('x'), stored('x'), revision), undefined));
  }
  assert.equal(ended(), 0);
  const frames = watcher[Symbol.asyncIterator]();
  for (let i = 0; i < 12; i++) assert.equal((await frames.next()).done, false);
  for (let revision = 14; revision <= 16; revision++) {
    assert.equal(ended(), 0);
    watcher.offer(new CacheEvent('created', new CachedObject(keyOf('x'), stored('x'), revision), undefined));
  }
  assert.equal(ended(), 1);
});

test('pages of the past show the state of their revision, with their remaining count, whatever changed since', () => {
  const cache = new ResourceCache(0, () => ({}));
  const state = new Map<string, number>();
  let revision = 0;
  const write = (kind: Change['kind'], namespace: string, name: string): void => {
    const key = `core/pods/${namespace}/${name}`;
    cache.apply({ revision: ++revision, kind, key, value: stored(name), previousRevision: state.get(key) ?? 0 });
    if (kind === 'deleted') state.delete(key);
    else state.set(key, revision);
  };
  const namespaces = ['a', 'a-b', 'ab', 'b'];
  for (let i = 0; i < 100; i++) write('created', namespaces[i % 4] ?? '', `n${i}`);
  const before = new Map(state);
  const atRevision = revision;
  for (const i of [0, 7, 50, 99]) write('deleted', namespaces[i % 4] ?? '', `n${i}`);
  for (const i of [1, 51, 98]) write('updated', namespaces[i % 4] ?? '', `n${i}`);
  for (const name of ['m', 'n5x', 'z']) for (const namespace of namespaces) write('created', namespace, name);
  write('deleted', 'b', 'z');
  for (const [wanted, at] of [
    [before, { atRevision }],
    [state, {}],
  ] as const) {
    for (const namespace of [undefined, ...namespaces]) {
      const all = [...wanted].filter(([key]) => namespace === undefined || key.startsWith(`core/pods/${namespace}/`));
      const seen: (readonly [string, number])[] = [];
      for (let after: string | undefined = ''; after !== undefined; ) {
        const selection = { ...EVERYTHING, namespace };
        const page = cache.list({ selection, limit: 7, ...at, ...(after === '' ? {} : { after }) });
        assert.ok(page !== undefined);
        seen.push(...page.objects.map((object) => [object.key, object.revision] as const));
        assert.equal(page.remaining ?? 0, all.length - seen.length);
        after = page.lastKey;
      }
      assert.deepEqual(
        seen,
        all.toSorted(([a], [b]) => (a < b ? -1 : 1)),
      );
    }
  }
});

test('keys after a position start there, in changed and unchanged namespaces', () => {
  const index = new ObjectIndex();
  const put = (namespace: string, name: string): void =>
    index.set(new CachedObject(`core/pods/${namespace}/${name}`, stored(name), 1));
  for (const name of ['a', 'c', 'e']) for (const namespace of ['x', 'y']) put(namespace, name);
  const after = (key: string): readonly string[] => [...index.keys(undefined, `core/pods/${key}`)];
  const wanted = ['core/pods/x/e', 'core/pods/y/a', 'core/pods/y/c', 'core/pods/y/e'];
  assert.deepEqual(after('x/c'), wanted);
  assert.deepEqual(after('x/d'), wanted);
  assert.equal(index.countAfter(undefined, 'core/pods/x/c'), 4);
  put('x', 'd');
  assert.deepEqual(after('x/c'), ['core/pods/x/d', ...wanted]);
  assert.equal(index.countAfter('x', 'core/pods/x/c'), 2);
  assert.deepEqual([after('y/e'), after('z')], [[], []]);
});

interface Alike extends KubeObject {
  readonly spec: { readonly tolerations: readonly object[]; readonly hostname: string };
}

test('objects of one owner share equal parts, and each keeps the value of its text', () => {
  const pod = (name: string, owner: string): Alike => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace: 'a',
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: owner, uid: owner }],
    },
    spec: { tolerations: [{ key: 'k', operator: 'Exists' }], hostname: name },
  });
  const cached = (name: string, owner: string, isWritten: boolean): CachedObject => {
    const object = pod(name, owner);
    return new CachedObject(keyOf(name), encodeStored(object), 3, isWritten ? object : undefined);
  };
  const all = [cached('x', 'o', false), cached('y', 'o', true), cached('z', 'o', false), cached('w', 'other', false)];
  const specs = all.map(({ object }) => (object as Alike).spec);
  assert.deepEqual(
    specs.map(({ tolerations }) => tolerations === specs[0]?.tolerations),
    [true, true, true, false],
  );
  for (const { bytes, object } of all) {
    assert.deepEqual(JSON.parse(bytes.toString()), object);
    assert.ok(Object.isFrozen((object as Alike).spec.tolerations[0]));
  }
});
