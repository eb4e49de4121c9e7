import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatTime, parseTime } from '@holdfast/platform';
import fc from 'fast-check';
import { cronJob } from '../../testing/builders.ts';
import { dueOf } from './due.ts';
import { parseExpression } from './expression.ts';
import { loadSchedule, type Schedule } from './schedule.ts';

async function scheduleOf(text: string, timeZone?: string): Promise<Schedule> {
  const schedule = await loadSchedule(text, timeZone);
  assert.ok('next' in schedule, text);
  return schedule;
}

const at = (text: string): number => parseTime(text) ?? Number.NaN;

async function times(text: string, from: string, options: { zone?: string; count?: number } = {}): Promise<string[]> {
  const schedule = await scheduleOf(text, options.zone);
  const seen: string[] = [];
  let time = at(from);
  for (let i = 0; i < (options.count ?? 3); i++) {
    time = schedule.next(time) ?? Number.NaN;
    seen.push(formatTime(time));
  }
  return seen;
}

test('five fields, names, lists, steps, words', async () => {
  const cases: Record<string, readonly string[]> = {
    '*/20 * * * *': ['2026-01-01T00:20:00Z', '2026-01-01T00:40:00Z', '2026-01-01T01:00:00Z'],
    '5/25 3 * * ?': ['2026-01-01T03:05:00Z', '2026-01-01T03:30:00Z', '2026-01-01T03:55:00Z'],
    '0 8-10/2 * * MON-TUE': ['2026-01-05T08:00:00Z', '2026-01-05T10:00:00Z', '2026-01-06T08:00:00Z'],
    '0 0 29 feb *': ['2028-02-29T00:00:00Z', '2032-02-29T00:00:00Z', '2036-02-29T00:00:00Z'],
    '@hourly': ['2026-01-01T01:00:00Z', '2026-01-01T02:00:00Z', '2026-01-01T03:00:00Z'],
    '@weekly': ['2026-01-04T00:00:00Z', '2026-01-11T00:00:00Z', '2026-01-18T00:00:00Z'],
    '@yearly': ['2027-01-01T00:00:00Z', '2028-01-01T00:00:00Z', '2029-01-01T00:00:00Z'],
    '@every 90m': ['2026-01-01T01:30:00Z', '2026-01-01T03:00:00Z', '2026-01-01T04:30:00Z'],
  };
  for (const [text, expected] of Object.entries(cases)) {
    assert.deepEqual(await times(text, '2026-01-01T00:00:00Z'), expected, text);
  }
});

test('day of month and day of week: either matches when both are set, a star is ignored', async () => {
  assert.deepEqual(await times('0 0 13 * 5', '2026-01-01T00:00:00Z'), [
    '2026-01-02T00:00:00Z',
    '2026-01-09T00:00:00Z',
    '2026-01-13T00:00:00Z',
  ]);
  assert.deepEqual(await times('0 0 * * 5', '2026-01-03T00:00:00Z', { count: 2 }), [
    '2026-01-09T00:00:00Z',
    '2026-01-16T00:00:00Z',
  ]);
  assert.deepEqual(await times('0 0 13 * *', '2026-01-01T00:00:00Z', { count: 1 }), ['2026-01-13T00:00:00Z']);
});

test('in a time zone: skipped spring times are omitted, repeated autumn times occur twice', async () => {
  const zone = 'America/New_York';
  assert.deepEqual(await times('0 9 * * *', '2026-07-01T00:00:00Z', { zone, count: 1 }), ['2026-07-01T13:00:00Z']);
  assert.deepEqual(await times('30 2 * * *', '2026-03-07T12:00:00Z', { zone, count: 1 }), ['2026-03-09T06:30:00Z']);
  assert.deepEqual(await times('30 1 * * *', '2026-10-31T12:00:00Z', { zone }), [
    '2026-11-01T05:30:00Z',
    '2026-11-01T06:30:00Z',
    '2026-11-02T06:30:00Z',
  ]);
});

test('an invalid schedule is reported', async () => {
  for (const text of [
    '',
    '* * * *',
    '60 * * * *',
    '* * * * 7',
    '1-x * * * *',
    '5-1 * * * *',
    '*/0 * * * *',
    '1/2/3 * * * *',
  ]) {
    assert.equal(parseExpression(text), undefined, text);
  }
  assert.deepEqual(await loadSchedule('TZ=UTC 0 0 * * *'), {
    reason: 'UnparseableSchedule',
    message: 'unparseable schedule: "TZ=UTC 0 0 * * *"',
  });
  assert.deepEqual(await loadSchedule('0 0 * * *', 'Mars/Phobos'), {
    reason: 'UnknownTimeZone',
    message: 'invalid timeZone: unknown time zone "Mars/Phobos"',
  });
});

const created = '2026-01-01T00:00:00Z';
const since = (spec: Parameters<typeof cronJob>[0] = {}, lastScheduleTime?: string): ReturnType<typeof cronJob> => ({
  ...cronJob(spec),
  metadata: { name: 'tick', namespace: 'default', uid: 'uid-1', creationTimestamp: created },
  status: lastScheduleTime === undefined ? {} : { lastScheduleTime },
});

test('the latest past time is due, never an earlier or a later one', async () => {
  const schedule = await scheduleOf('*/7 3-20 * * *');
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 40_000_000 }), (elapsed) => {
      const now = at(created) + elapsed;
      const due = dueOf(since(), schedule, now);
      assert.ok(due);
      if (due.at !== undefined) {
        assert.ok(due.at > at(created) && due.at <= now);
        assert.ok((schedule.next(due.at) ?? now) > now, 'nothing has passed since');
      }
      assert.ok((due.next ?? 0) > now);
    }),
  );
});

test('more than a hundred missed times cause a warning, unless a deadline excludes them; years of them cost little', async () => {
  const minutely = await scheduleOf('* * * * *');
  let asked = 0;
  const counting: Schedule = {
    next: (after) => {
      asked++;
      return minutely.next(after);
    },
  };
  const now = at('2036-01-01T00:00:30Z');
  assert.deepEqual(dueOf(since(), counting, now), {
    at: at('2036-01-01T00:00:00Z'),
    tooMany: true,
    next: at('2036-01-01T00:01:00Z'),
  });
  assert.ok(asked < 10, `${asked} looks at the schedule`);
  assert.equal(dueOf(since({ startingDeadlineSeconds: 200 }), minutely, now)?.tooMany, false);
  assert.equal(dueOf(since({}, '2035-12-31T23:00:00Z'), minutely, now)?.tooMany, false);
});

test('a day that never occurs is reported without an endless search', async () => {
  assert.equal(dueOf(since(), await scheduleOf('0 0 31 2 *'), at('2026-03-01T00:00:00Z')), undefined);
});
