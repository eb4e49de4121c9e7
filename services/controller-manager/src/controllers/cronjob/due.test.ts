import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CronJob } from '@holdfast/api';
import { parseTime } from '@holdfast/platform';
import fc from 'fast-check';
import { cronJob } from '../../testing/builders.ts';
import { dueOf } from './due.ts';
import { loadSchedule, type Schedule } from './schedule.ts';

const at = (text: string): number => parseTime(text) ?? Number.NaN;

async function counting(text: string): Promise<{ schedule: Schedule; asked: () => number }> {
  const loaded = await loadSchedule(text);
  assert.ok('next' in loaded);
  let asked = 0;
  return {
    asked: () => asked,
    schedule: {
      next: (afterMs) => {
        asked++;
        return loaded.next(afterMs);
      },
    },
  };
}

const since = (lastScheduleTime: string): CronJob => ({ ...cronJob(), status: { lastScheduleTime } });

test('the latest missed start needs few schedule evaluations, however irregular the schedule is', async () => {
  const table: readonly [string, string, string, string][] = [
    ['* * * * *', '2001-01-01T00:00:00Z', '2026-01-31T23:30:30Z', '2026-01-31T23:30:00Z'],
    ['* * * 1 *', '2025-01-31T23:58:00Z', '2026-01-31T23:30:30Z', '2026-01-31T23:30:00Z'],
    ['* * * 1 *', '2025-01-31T23:58:00Z', '2026-07-31T23:30:30Z', '2026-01-31T23:59:00Z'],
    ['0,1 0 1 1 *', '2015-06-01T00:00:00Z', '2026-07-31T23:30:30Z', '2026-01-01T00:01:00Z'],
    ['@every 1s', '2001-01-01T00:00:00Z', '2026-01-31T23:30:30Z', '2026-01-31T23:30:30Z'],
    ['@every 7m', '2026-01-31T00:00:00Z', '2026-01-31T00:30:00Z', '2026-01-31T00:28:00Z'],
  ];
  for (const [text, last, now, expected] of table) {
    const { schedule, asked } = await counting(text);
    assert.equal(dueOf(since(last), schedule, at(now))?.at, at(expected), `${text} at ${now}`);
    assert.ok(asked() <= 100, `${text}: ${asked()} looks`);
  }
});

test('the latest missed start equals the result of a walk through the schedule', async () => {
  const texts = ['*/7 3 * * *', '0 0 29 2 *', '5,50 */9 1-3 * *', '* 5 * * 1', '0 0 31 * *'];
  const schedules = await Promise.all(texts.map((text) => counting(text)));
  const start = at('2024-01-01T00:00:00Z');
  const property = fc.property(fc.constantFrom(...schedules), fc.nat(90 * 86_400), ({ schedule }, seconds) => {
    const now = start + seconds * 1000;
    let walked: number | undefined;
    for (let next = schedule.next(start); next !== undefined && next <= now; next = schedule.next(next)) walked = next;
    assert.equal(dueOf(since('2024-01-01T00:00:00Z'), schedule, now)?.at, walked);
  });
  fc.assert(property, { numRuns: 60 });
});
