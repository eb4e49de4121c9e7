import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ageSince, buildTable, humanDuration } from './table.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const YEAR = 365 * DAY;

test('durations print as kubectl prints them', () => {
  const cases: readonly [number, string][] = [
    [-2 * SECOND, '<invalid>'],
    [-SECOND, '0s'],
    [0, '0s'],
    [5 * SECOND + 999, '5s'],
    [119 * SECOND, '119s'],
    [120 * SECOND, '2m'],
    [150 * SECOND, '2m30s'],
    [10 * MINUTE + SECOND, '10m'],
    [179 * MINUTE, '179m'],
    [3 * HOUR, '3h'],
    [7 * HOUR + 59 * MINUTE, '7h59m'],
    [8 * HOUR + MINUTE, '8h'],
    [47 * HOUR, '47h'],
    [48 * HOUR, '2d'],
    [4 * DAY + 12 * HOUR, '4d12h'],
    [8 * DAY + HOUR, '8d'],
    [729 * DAY, '729d'],
    [2 * YEAR + 10 * DAY, '2y10d'],
    [3 * YEAR, '3y'],
    [9 * YEAR + DAY, '9y'],
  ];
  for (const [duration, expected] of cases) assert.equal(humanDuration(duration), expected);
});

test('ages', () => {
  const now = 1_700_000_000_000;
  assert.equal(ageSince('2023-11-14T22:13:15Z', now), '5s');
  assert.equal(ageSince(null, now), '<unknown>');
});

test('a table has a row per object with the requested part of the object', () => {
  const objects = [{ metadata: { name: 'a' }, spec: {} }];
  const columns = [
    {
      name: 'Name',
      type: 'string',
      format: 'name',
      description: 'd',
      priority: 0,
      cell: (o: (typeof objects)[0]) => o.metadata.name,
    },
  ];
  const table = (include: 'None' | 'Metadata' | 'Object') =>
    buildTable({ objects, columns, metadata: { resourceVersion: '1' }, include, now: 0 });
  assert.deepEqual(table('Metadata'), {
    kind: 'Table',
    apiVersion: 'meta.k8s.io/v1',
    metadata: { resourceVersion: '1' },
    columnDefinitions: [{ name: 'Name', type: 'string', format: 'name', description: 'd', priority: 0 }],
    rows: [
      {
        cells: ['a'],
        object: { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: { name: 'a' } },
      },
    ],
  });
  assert.equal(table('None').rows[0]?.object, null);
  assert.equal(table('Object').rows[0]?.object, objects[0]);
});
