import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Api, ApiFailure } from './api.ts';
import { type Change, fieldOf, hashOf, isNoise, readChanges, readRange, valueText, writerOf } from './history.ts';

const change = (revision: number, resource = 'pods'): Change => ({
  revision: String(revision),
  time: '2026-01-01T00:00:00Z',
  type: 'updated',
  object: { group: '', resource, namespace: 'default', name: 'web' },
});

const apiOf = (answer: (query: Readonly<Record<string, string>>) => unknown): Api => ({
  json: async <T>(_path: string, asked?: { readonly query?: Readonly<Record<string, string>> }) => {
    const given = answer(asked?.query ?? {});
    if (given instanceof Error) throw given;
    return given as T;
  },
  text: async () => '',
  stream: async () => (async function* () {})(),
});

test('the newest changes come first, from all pages, without those that nobody asked for', async () => {
  const api = apiOf(({ continue: token }) =>
    token === undefined
      ? { metadata: { continue: 'more' }, items: [change(1), change(2, 'leases')] }
      : { metadata: {}, items: [change(3)] },
  );
  const read = await readChanges(api, { path: '', fromTime: 'a', toTime: '', keeps: (each) => !isNoise(each) });
  assert.deepEqual(
    read.map(({ revision }) => revision),
    ['3', '1'],
  );
});

test('a long span ends: pages and kept changes are bounded', async () => {
  let pages = 0;
  const api = apiOf(() => ({
    metadata: { continue: 'more' },
    items: Array.from({ length: 1_000 }, (_, i) => change(pages * 1_000 + i)),
    page: pages++,
  }));
  assert.equal((await readChanges(api, { path: '', fromTime: 'a', toTime: '' })).length, 500);
  assert.equal(pages, 20);
});

test('a server without a history, and a user without the right, have none', async () => {
  assert.equal(await readRange(apiOf(() => new ApiFailure(404, 'no'))), undefined);
  assert.equal(await readRange(apiOf(() => new ApiFailure(403, 'no'))), undefined);
  await assert.rejects(readRange(apiOf(() => new ApiFailure(503, 'later'))), /later/);
});

test('a change says who, what and which field', () => {
  assert.equal(writerOf(change(1)), 'not known');
  assert.equal(writerOf({ ...change(1), by: { manager: 'kubectl' } }), 'kubectl');
  assert.equal(writerOf({ ...change(1), by: { user: 'alice', manager: 'kubectl' } }), 'alice');
  assert.equal(hashOf(change(1), [{ group: '', version: 'v1', plural: 'pods' }]), '#/object/core/v1/pods/default/web');
  assert.equal(hashOf(change(1), []), '');
  assert.equal(fieldOf({ op: 'add', path: '/metadata/labels/a~1b~0c' }), 'metadata.labels.a/b~c');
  assert.equal(valueText({ a: 1 }), '{"a":1}');
  assert.equal(valueText('x'.repeat(500)).length, 163);
});
