import assert from 'node:assert/strict';
import path from 'node:path';
import { Readable } from 'node:stream';
import test from 'node:test';
import type { TestEvent } from 'node:test/reporters';
import countReporter, { type RunReport } from './count-reporter.ts';

async function reportOf(events: readonly unknown[]): Promise<RunReport> {
  const source = Readable.from(events) as AsyncIterable<TestEvent>;
  const lines: string[] = [];
  for await (const line of countReporter(source)) lines.push(line);
  assert.equal(lines.length, 1);
  return JSON.parse(lines[0] as string) as RunReport;
}

function failed(name: string, failureType: string, cause?: unknown): unknown {
  const error = Object.assign(new Error('the runner wraps it', { cause }), { failureType });
  return { type: 'test:fail', data: { name, file: 'a.test.ts', line: 3, details: { error } } };
}

const passed = (data: object): unknown => ({
  type: 'test:pass',
  data: { name: 'a', nesting: 0, file: path.resolve('a.test.ts'), ...data },
});

test('a skipped test is listed with its file and reason, and a file in which no test ran has not passed', async () => {
  const report = await reportOf([
    passed({ skip: 'no network' }),
    passed({ name: 'later', todo: '' }),
    passed({ name: 'b.test.ts', file: path.resolve('b.test.ts') }),
    passed({}),
    END,
  ]);
  const reasons = report.skips.map(({ title, reason }) => [title, reason]);
  assert.deepEqual(reasons, [
    ['a', 'no network'],
    ['later', 'no reason is given'],
  ]);
  assert.equal(report.passed, 1);
});

const END = { type: 'test:summary', data: { counts: { tests: 4, passed: 2, skipped: 0, todo: 0 } } };

test('a failed test is printed once more with its location and its own error, its suite is not', async () => {
  const report = await reportOf([
    failed('inner', 'testCodeFailure', new Error('expected 2')),
    failed('outer', 'subtestsFailed'),
    END,
  ]);
  assert.equal(report.failed, 2);
  assert.equal(report.failures.length, 1);
  assert.match(report.failures[0] as string, /^✖ inner \(a\.test\.ts:3\)\n {4}Error: expected 2\n/);
});

test('an unhandled rejection after the end of its test is a failure, reported once however often the runner reports it', async () => {
  const message =
    'Error: Test "a" at a.test.ts:1:1 generated asynchronous activity after the test ended. This activity created the error ' +
    '"Error: late" and would have caused the test to fail, but instead triggered an unhandledRejection event.';
  const told = { type: 'test:diagnostic', data: { message } };
  const report = await reportOf([told, told, { type: 'test:diagnostic', data: { message: 'tests 4' } }, END]);
  assert.equal(report.failed, 3);
  assert.deepEqual(report.failures, [`✖ ${message}`]);
});

test('a failure without its own error is printed with the message of the runner', async () => {
  const report = await reportOf([failed('slow', 'testTimeoutFailure', 'test timed out after 100ms'), END]);
  assert.match(report.failures[0] as string, /timed out after 100ms/);
});

test('the time of each file is counted, of files in groups as well', async () => {
  const file = (name: string, ms: number) => ({
    type: 'test:summary',
    data: { file: path.resolve(name), duration_ms: ms, counts: { tests: 1, passed: 1, skipped: 0, todo: 0 } },
  });
  const inGroup = {
    name: 'libs/api/b.test.ts',
    file: path.resolve('group-1.mjs'),
    details: { type: 'suite', duration_ms: 7 },
  };
  const { times } = await reportOf([file('test/a.test.ts', 5), passed(inGroup), file('group-1.mjs', 9), END]);
  assert.deepEqual(times, [
    { file: 'test/a.test.ts', ms: 5 },
    { file: 'libs/api/b.test.ts', ms: 7 },
  ]);
});
