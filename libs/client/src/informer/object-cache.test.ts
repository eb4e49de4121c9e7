import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from '@holdfast/api';
import { keyOf, ObjectCache } from './object-cache.ts';

const object = (namespace: string, name: string, app: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { namespace, name, labels: { app } },
});

test('an index costs nothing before it is used, and one look at each object then', () => {
  let looks = 0;
  const cache = new ObjectCache({
    app: ({ metadata }) => {
      looks += 1;
      return [metadata.labels?.['app'] ?? ''];
    },
  });
  const put = (revision: number, ...place: [string, string, string]): void => {
    const put = object(...place);
    cache.upsert(keyOf(put), put, revision);
  };
  const names = (objects: readonly KubeObject[] | undefined): readonly (string | undefined)[] | undefined =>
    objects?.map(({ metadata }) => metadata.name);
  for (let i = 0; i < 100; i++) put(i + 1, i < 50 ? 'a' : 'b', `o-${i}`, i % 2 === 0 ? 'even' : 'odd');
  assert.equal(looks, 0);
  assert.equal(cache.byIndex('app', 'even')?.length, 50);
  assert.equal(looks, 100);
  put(101, 'a', 'o-0', 'odd');
  cache.remove('a/o-1', 102);
  put(103, 'c', 'new', 'odd');
  assert.equal(looks, 104, 'an update looks at both states, a deletion and a new object at one');
  assert.equal(cache.byIndex('app', 'even')?.length, 49);
  assert.equal(cache.byIndex('app', 'odd')?.length, 51);
  assert.deepEqual(names(cache.byIndex('app', 'odd'))?.slice(-2), ['o-0', 'new']);
  assert.equal(cache.byIndex('other', 'odd'), undefined);
});

test('the objects of a namespace are found from the first question on', () => {
  const cache = new ObjectCache({});
  const one = object('a', 'one', '');
  cache.upsert(keyOf(one), one, 1);
  assert.deepEqual([cache.count('a'), cache.count('b')], [1, 0]);
  const two = object('b', 'two', '');
  cache.upsert(keyOf(two), two, 2);
  cache.remove('a/one', 3);
  assert.deepEqual([cache.list('a'), cache.list('b')], [[], [two]]);
});
