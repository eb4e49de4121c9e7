import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { brokenWatches, type Told, type Written } from './watches.ts';

const KINDS = ['create', 'update', 'delete'] as const;
const TYPES = ['ADDED', 'MODIFIED', 'DELETED'];
const log = (gaps: readonly number[]): readonly Written[] => {
  let revision = 0;
  return gaps.map((gap, index) => ({ revision: (revision += gap + 1), kind: KINDS[index % 3] ?? 'update' }));
};
const tell = (written: readonly Written[]): readonly Told[] =>
  written.map(({ revision, kind }) => ({ revision, type: TYPES[KINDS.indexOf(kind)] ?? '' }));
const LOG = log([0, 0, 3, 1, 0, 7]);

test('a watch that tells each change once and in order is right, wherever it begins and ends', () => {
  const anyLog = fc.array(fc.nat(4), { minLength: 1, maxLength: 30 }).map(log);
  const property = fc.property(anyLog, fc.nat(60), fc.nat(30), (written, after, count) => {
    const events = tell(written.filter(({ revision }) => revision > after).slice(0, count));
    assert.deepEqual(brokenWatches([{ client: 'c', after, events }], written), []);
  });
  fc.assert(property);
});

test('a change that is skipped, repeated, out of order, invented or told as another kind is found', () => {
  const events = tell(LOG);
  const wrong: readonly (readonly Told[])[] = [
    events.toSpliced(2, 1),
    events.toSpliced(2, 0, ...events.slice(2, 3)),
    events.toSpliced(1, 2, ...events.slice(1, 3).toReversed()),
    [...events, { revision: 99, type: 'ADDED' }],
    events.with(1, { revision: events[1]?.revision ?? 0, type: 'DELETED' }),
  ];
  for (const each of wrong) assert.equal(brokenWatches([{ client: 'c', after: 0, events: each }], LOG).length, 1);
  assert.match(
    brokenWatches([{ client: 'c', after: 0, events: events.toSpliced(2, 1) }], LOG)[0] ?? '',
    /^c: after revision 2 the watch tells 8; the store has 6 there$/,
  );
});

test('a watch that falls silent is found when it had the time to tell', () => {
  const events = tell(LOG.slice(0, 4));
  assert.deepEqual(brokenWatches([{ client: 'c', after: 0, events }], LOG), []);
  assert.deepEqual(brokenWatches([{ client: 'c', after: 0, events, upTo: 8 }], LOG), []);
  assert.equal(brokenWatches([{ client: 'c', after: 0, events, upTo: 9 }], LOG).length, 1);
});
