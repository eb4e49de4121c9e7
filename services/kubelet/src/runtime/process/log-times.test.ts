import assert from 'node:assert/strict';
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Clock, createSystemClock } from '@holdfast/platform';
import { eventually } from '../contract.ts';
import { LOG_TIME_QUIET_POLLS } from './limits.ts';
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
