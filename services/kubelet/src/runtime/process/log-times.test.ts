import assert from 'node:assert/strict';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Clock, createSystemClock } from '@holdfast/platform';
import { eventually } from '../contract.ts';
import { LOG_TIME_QUIET_POLLS, LOG_TIMES_MAX_BYTES } from './limits.ts';
import { createLogTimes, timesPath } from './log-times.ts';

const clock = createSystemClock();

function logOf(t: TestContext, text: string): string {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-times-'));
  t.after(() => rmSync(directory, { recursive: true }));
  const path = join(directory, 'log');
  writeFileSync(path, text);
  return path;
}

const sizes = (path: string): readonly number[] =>
  existsSync(timesPath(path))
    ? readFileSync(timesPath(path), 'utf8')
        .trimEnd()
        .split('\n')
        .map((line) => Number(line.split(' ')[0]))
    : [];

test('the growth of a log is noted with its time, and its end when its writer ends', async (t) => {
  const path = logOf(t, '');
  const times = createLogTimes(clock);
  t.after(() => times.finish(path));
  times.follow(path);
  assert.deepEqual(sizes(path), [], 'nothing was written yet');
  const before = clock.now();
  appendFileSync(path, 'one\n');
  await eventually(() => sizes(path).at(-1) === 4, 'the first line is noted');
  appendFileSync(path, 'two\n');
  await eventually(() => sizes(path).at(-1) === 8, 'and the second');
  const [, time] = readFileSync(timesPath(path), 'utf8').split(/\s/).map(Number);
  assert.ok((time ?? 0) >= before && (time ?? 0) <= clock.now());
  appendFileSync(path, 'last\n');
  times.finish(path);
  assert.equal(sizes(path).at(-1), 13);
});

test('a log that was quiet for long is noted when it grows, and so is a truncated one', async (t) => {
  const path = logOf(t, 'some lines\n');
  let looks = 0;
  const timer: Clock['timer'] = (_delayMs, fire) => {
    looks++;
    return clock.timer(1, fire);
  };
  const times = createLogTimes({ ...clock, timer });
  t.after(() => times.finish(path));
  times.follow(path);
  await eventually(() => sizes(path).at(-1) === 11, 'what was there is noted');
  await eventually(() => looks >= LOG_TIME_QUIET_POLLS, 'it counts as quiet');
  appendFileSync(path, 'more\n');
  await eventually(() => sizes(path).at(-1) === 16, 'it is noted');
  truncateSync(path, 0);
  appendFileSync(path, 'x\n');
  await eventually(() => sizes(path).at(-1) === 2, 'from its beginning');
});

test('the next supervisor repeats no notes', (t) => {
  const path = logOf(t, 'one\n');
  writeFileSync(timesPath(path), '4 1767225600000\n');
  const times = createLogTimes(clock);
  times.follow(path);
  times.finish(path);
  assert.equal(readFileSync(timesPath(path), 'utf8'), '4 1767225600000\n');
});

const RECORD_BYTES = '1234567 1767225600000\n'.length;
const MANY = Math.ceil(LOG_TIMES_MAX_BYTES / RECORD_BYTES);

/** As of a log that grows at every poll. */
const records = (count: number): string =>
  Array.from({ length: count }, (_, index) => `${1_000_000 + index} ${1_767_225_600_000 + index * 50}\n`).join('');

test('the times of a log that is written slowly for long keep equal distances, and are bounded', (t) => {
  const path = logOf(t, 'x'.repeat(2_000_000));
  writeFileSync(timesPath(path), `7000000 1\n${records(MANY)}`);
  const now = 1_767_225_600_000 + MANY * 50;
  const times = createLogTimes({ ...clock, now: () => now });
  t.after(() => times.finish(path));
  times.follow(path);
  const kept = readFileSync(timesPath(path), 'utf8').trimEnd().split('\n');
  assert.ok(statSync(timesPath(path)).size <= 0.6 * LOG_TIMES_MAX_BYTES);
  assert.equal(kept.at(-1), `2000000 ${now}`);
  assert.ok(Number(kept[0]?.split(' ')[1]) <= 1_767_225_600_200, 'its beginning has times, too');
  const gaps = kept.slice(1).map((line, index) => Number(line.split(' ')[1]) - Number(kept[index]?.split(' ')[1]));
  assert.ok(Math.max(...gaps) <= 200, 'no line is much younger than its time');
  assert.ok(
    kept.every((line) => line !== '7000000 1'),
    'the times of an emptied log are gone',
  );
});

test('times that cannot be made fewer are not read again with every note', (t) => {
  const path = logOf(t, 'x'.repeat(2_000_000));
  writeFileSync(timesPath(path), records(MANY));
  // As with a full disk.
  mkdirSync(`${timesPath(path)}.new`);
  const times = createLogTimes(clock);
  times.follow(path);
  assert.equal(sizes(path).at(-1), 2_000_000, 'the note is there all the same');
  rmSync(`${timesPath(path)}.new`, { recursive: true });
  appendFileSync(path, 'more');
  times.finish(path);
  assert.equal(sizes(path).at(-1), 2_000_004);
  assert.ok(statSync(timesPath(path)).size > LOG_TIMES_MAX_BYTES, 'it was left as it is');
});
