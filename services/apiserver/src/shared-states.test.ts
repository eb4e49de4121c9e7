import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StoredObject } from '@holdfast/store';
import { completed } from './flow-control/configuration.ts';
import { BOOTSTRAP } from './flow-control/testing.ts';
import { createSharedStates } from './shared-states.ts';

const stored = (): StoredObject => ({
  key: 'core/configmaps/default/map',
  value: '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"map","namespace":"default"}}',
  revision: 3,
  createRevision: 3,
});

test('one instance in the stores is one state in the caches, and is parsed once', () => {
  const { cachedOf } = createSharedStates();
  const object = stored();
  assert.equal(cachedOf(object), cachedOf(object));
  assert.equal(cachedOf(object).object, cachedOf(object).object);
  assert.equal(cachedOf(object).object.metadata.resourceVersion, '3');
});

test('equal objects of stores that began differently are different states', () => {
  const { cachedOf } = createSharedStates();
  assert.notEqual(cachedOf(stored()), cachedOf(stored()));
});

test('the same schemas of flow control are indexed once; others, and fewer, anew', () => {
  const { matcherOf } = createSharedStates();
  const { schemas } = completed(BOOTSTRAP);
  const matcher = matcherOf(schemas);
  assert.equal(matcherOf([...schemas]), matcher);
  const [first, ...rest] = schemas;
  assert.ok(first !== undefined);
  const changed = matcherOf([{ ...first }, ...rest]);
  assert.notEqual(changed, matcher);
  assert.equal(matcherOf(rest).schemas.length, rest.length);
});
