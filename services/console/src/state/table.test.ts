import assert from 'node:assert/strict';
import { test } from 'node:test';
import { latestEvents } from './events.ts';
import { shownColumns, visibleRows, windowOf } from './rows-view.ts';
import { columns, row, tableOf } from './testing.ts';
import { LineReader } from './watch-lines.ts';

test('events change the rows of a list, and the revision follows', () => {
  const model = tableOf(['Name'], [row('web-1'), row('web-2')]);
  assert.deepEqual([...model.rows.keys()], ['default/web-1', 'default/web-2']);
  const event = (type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK', name: string, revision: string) =>
    model.takeEvent({
      type,
      object: { metadata: { resourceVersion: revision }, columnDefinitions: null, rows: [row(name)] },
    });
  assert.deepEqual(event('ADDED', 'web-3', '11'), ['default/web-3']);
  assert.deepEqual(event('DELETED', 'web-1', '12'), ['default/web-1']);
  assert.deepEqual(event('BOOKMARK', '', '20'), []);
  assert.deepEqual([...model.rows.keys()], ['default/web-2', 'default/web-3']);
  assert.equal(model.revision, '20');
  assert.equal(model.columns.length, 1, 'events bring no columns');
  model.takePage({ rows: [row('web-9')], columnDefinitions: columns(['Name']) }, true);
  assert.deepEqual([...model.rows.keys()], ['default/web-9'], 'a new list forgets what is gone');
});

test('lines of a watch arrive in pieces', () => {
  const reader = new LineReader();
  assert.deepEqual(reader.take('{"a":1}\n{"b"'), ['{"a":1}']);
  assert.deepEqual(reader.take(':2}\n\n'), ['{"b":2}']);
  assert.deepEqual(reader.take(''), []);
});

test('rows are found by all words, in any cell and in the namespace', () => {
  const model = tableOf(
    ['Name', 'Status'],
    [row('web-1', { status: 'Running' }), row('web-2', { status: 'Pending', namespace: 'shop' })],
  );
  const names = (words: string) => visibleRows(model, words).map(({ name }) => name);
  assert.deepEqual(names(''), ['web-1', 'web-2']);
  assert.deepEqual(names('WEB pend'), ['web-2']);
  assert.deepEqual(names('shop'), ['web-2']);
  assert.deepEqual(names('web none'), []);
});

test('columns are those of the server, wide ones on request, and ages are counted here', () => {
  const model = tableOf(['Name', 'Age', 'IP!'], [row('web-1', { createdAt: '1970-01-01T00:00:00Z' })]);
  const titles = (isWide: boolean) => shownColumns(model, [...model.rows.values()], isWide).map(({ title }) => title);
  assert.deepEqual(titles(false), ['Namespace', 'Name', 'Age']);
  assert.deepEqual(titles(true), ['Namespace', 'Name', 'Age', 'IP']);
  const [first] = model.rows.values();
  const age = shownColumns(model, [...model.rows.values()], false).at(-1);
  assert.equal(first === undefined ? '' : age?.text(first, 90_000), '90s');
});

test('only rows in sight are drawn', () => {
  assert.deepEqual(windowOf(0, 340, 34, 5_000), { first: 0, end: 22 });
  assert.deepEqual(windowOf(34_000, 340, 34, 5_000), { first: 988, end: 1_022 });
  assert.deepEqual(windowOf(34_000, 340, 34, 3), { first: 3, end: 3 }, 'the list became shorter');
});

test('the latest events come first, however many there are', () => {
  const events = Array.from({ length: 50 }, (_, i) =>
    row(`e${i}`, { createdAt: `2026-01-01T00:00:${String((i * 7) % 50).padStart(2, '0')}Z` }),
  );
  const model = tableOf(['Last Seen', 'Type', 'Reason', 'Object', 'Message'], events);
  const latest = latestEvents(model, 3);
  assert.deepEqual(
    latest.map(({ at }) => at.slice(-3)),
    ['49Z', '48Z', '47Z'],
  );
});
