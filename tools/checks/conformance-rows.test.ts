import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { WALKS } from '../../test/support/conformance/index.ts';
import { countTable, readRows, upstreamTable } from '../../test/support/conformance/rows.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const SIZES = { apps: 54, network: 41, node: 89, storage: 90 } as const;
const rows = readRows();

test('the table of conformance tests has every test of its groups, and the page has its numbers', () => {
  const found = Object.values(rows);
  for (const [group, size] of Object.entries(SIZES))
    assert.equal(found.filter((row) => row.group === group).length, size, group);
  const page = readFileSync(path.join(ROOT, 'docs/conformance.md'), 'utf8');
  for (const table of [countTable(rows), upstreamTable(rows)])
    assert.ok(page.includes(table), `docs/conformance.md has to say:\n${table}`);
});

test('what the program of Kubernetes passed on a kind of node holds there', () => {
  const denied = Object.entries(rows).filter(([, { not, upstream = [] }]) =>
    upstream.some((kind) => not?.[kind] !== undefined),
  );
  assert.deepEqual(denied, []);
});

test('every row is shown by a walk of the table, by a test that exists, or by hand', () => {
  const walked = new Set(WALKS.map(({ title }) => title));
  const unshown = Object.entries(rows).filter(([title, { shown, upstream }]) => {
    if (shown === 'walks') return !walked.has(title);
    if (shown === 'upstream') return upstream === undefined;
    return shown !== 'by hand' && shown !== 'nothing' && !existsSync(path.join(ROOT, shown));
  });
  assert.deepEqual(unshown, []);
  assert.deepEqual(
    [...walked].filter((title) => rows[title]?.shown !== 'walks'),
    [],
  );
});
