import type { TestEvent } from 'node:test/reporters';
import { inspect } from 'node:util';

/** What a run of one suite comes to, as this reporter writes it. */
export interface RunReport {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly failures: readonly string[];
}

/** The runner only mentions an unhandled rejection or exception of a test that has already passed. In a service it ends the process. */
const LATE_ERROR = /asynchronous activity after the test ended.*(?:unhandledRejection|uncaughtException)/s;

type FailedTest = Extract<TestEvent, { type: 'test:fail' }>['data'];

/** Lines of an error that are repeated at the end of the whole run: enough to know what to look for further up. */
const ERROR_LINES = 14;

/** Writes one JSON line with the counts of the run and its failures. The test runner loads a reporter by its default export. */
export default async function* countReporter(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const failures: string[] = [];
  const late = new Set<string>();
  for await (const event of source) {
    if (event.type === 'test:diagnostic' && LATE_ERROR.test(event.data.message)) late.add(`✖ ${event.data.message}`);
    if (event.type === 'test:fail' && isOwnFailure(event.data)) failures.push(describeFailure(event.data));
    if (event.type === 'test:summary' && event.data.file === undefined) {
      const { tests, passed, skipped, todo } = event.data.counts;
      const report: RunReport = {
        passed,
        failed: tests - passed - skipped - todo + late.size,
        skipped: skipped + todo,
        failures: [...failures, ...late],
      };
      yield `${JSON.stringify(report)}\n`;
    }
  }
}

/** A suite or a parent that fails only because of a test in it would be told twice. */
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
