import path from 'node:path';
import type { TestEvent } from 'node:test/reporters';
import { inspect } from 'node:util';
import type { Skip } from './skips.ts';

/** The results of one suite's run, as this reporter writes them. */
export interface RunReport {
  readonly passed: number;
  readonly failed: number;
  readonly skips: readonly Skip[];
  readonly failures: readonly string[];
  /** The files of groups whose tests have all ended. */
  readonly ended: readonly string[];
  /** How long each file took. */
  readonly times: readonly FileTime[];
}

export interface FileTime {
  readonly file: string;
  readonly ms: number;
}

/** The runner only mentions an unhandled rejection or exception of a test that has already passed. In a service it ends the process. */
const LATE_ERROR = /asynchronous activity after the test ended.*(?:unhandledRejection|uncaughtException)/s;

type PassedTest = Extract<TestEvent, { type: 'test:pass' }>['data'];
type Summary = Extract<TestEvent, { type: 'test:summary' }>['data'];
type FailedTest = Extract<TestEvent, { type: 'test:fail' }>['data'];

/** Lines of an error that are repeated at the end of the whole run: enough to know what to look for further up. */
const ERROR_LINES = 14;

const root = path.resolve(import.meta.dirname, '../..');

/** Writes one JSON line with the counts of the run and its failures. The test runner loads a reporter by its default export. */
export default async function* countReporter(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const failures: string[] = [];
  const late = new Set<string>();
  const skips: Skip[] = [];
  const ended: string[] = [];
  const times: FileTime[] = [];
  let empty = 0;
  let failedSuites = 0;
  for await (const event of source) {
    if (event.type === 'test:diagnostic' && LATE_ERROR.test(event.data.message)) late.add(`✖ ${event.data.message}`);
    if (event.type === 'test:fail' && isOwnFailure(event.data)) failures.push(describeFailure(event.data));
    if (event.type === 'test:pass' && isSkipped(event.data)) skips.push(skipOf(event.data));
    if (event.type === 'test:pass' && hasNoTest(event.data)) empty++;
    if (event.type === 'test:pass' || event.type === 'test:fail') {
      if (isOuterSuite(event.data)) ended.push(event.data.name);
      if (isFileOfGroup(event.data)) times.push({ file: event.data.name, ms: event.data.details.duration_ms });
    }
    // The runner counts tests only. A suite fails by itself when its file cannot be loaded, or by a hook.
    if (event.type === 'test:fail' && isSuite(event.data) && isOwnFailure(event.data)) failedSuites++;
    if (event.type === 'test:summary' && isOfFile(event.data)) times.push(timeOf(event.data));
    if (event.type === 'test:summary' && event.data.file === undefined) {
      const { tests, passed, skipped, todo } = event.data.counts;
      const report: RunReport = {
        passed: passed - empty,
        failed: tests - passed - skipped - todo + failedSuites + late.size,
        skips,
        failures: [...failures, ...late],
        ended,
        times,
      };
      yield `${JSON.stringify(report)}\n`;
    }
  }
}

const isSkipped = ({ skip, todo }: PassedTest): boolean => skip !== undefined || todo !== undefined;

function skipOf({ name, file = '', skip, todo }: PassedTest): Skip {
  const reason = [skip, todo].find((each) => typeof each === 'string' && each !== '');
  return { title: name, file: path.relative(root, file), reason: String(reason ?? 'no reason is given') };
}

/** The runner counts a file in which no test ran as one that passed. */
function hasNoTest({ name, file, nesting }: PassedTest): boolean {
  return nesting === 0 && file !== undefined && name === path.relative(process.cwd(), file);
}

const isSuite = ({ details }: PassedTest | FailedTest): boolean => details?.type === 'suite';

const isOuterSuite = (suite: PassedTest | FailedTest): boolean => isSuite(suite) && suite.nesting === 0;

/** A file of a group is a suite of its process. */
const isFileOfGroup = (suite: PassedTest | FailedTest): boolean => isOuterSuite(suite) && TEST_FILE.test(suite.name);

const TEST_FILE = /\.test\.ts$/;

const isOfFile = ({ file }: Summary): boolean => file !== undefined && TEST_FILE.test(file);

const timeOf = ({ file = '', duration_ms: ms }: Summary): FileTime => ({ file: path.relative(root, file), ms });

/** A suite or a parent that fails only because of an inner test would be reported twice. */
function isOwnFailure(failed: FailedTest): boolean {
  return failed.todo === undefined && failed.skip === undefined && failureType(failed) !== 'subtestsFailed';
}

function failureType(test: FailedTest): unknown {
  return (test.details.error as { failureType?: unknown }).failureType;
}

function describeFailure(test: FailedTest): string {
  const error = test.details.error.cause ?? test.details.error;
  const text = inspect(error, { depth: 1, breakLength: 120, maxStringLength: 1_000 });
  const lines = text.split('\n').filter((line) => !line.includes('node:internal/'));
  const place = test.file === undefined ? '' : ` (${test.file}:${test.line ?? 0})`;
  return [`✖ ${test.name}${place}`, ...lines.slice(0, ERROR_LINES).map((line) => `    ${line}`)].join('\n');
}
