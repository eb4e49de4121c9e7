import type { TestEvent } from 'node:test/reporters';

/** Writes one JSON line with the counts of the run. The test runner loads a reporter by its default export. */
export default async function* countReporter(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const event of source) {
    if (event.type === 'test:summary' && event.data.file === undefined) {
      const { tests, passed, skipped, todo } = event.data.counts;
      yield `${JSON.stringify({ passed, failed: tests - passed - skipped - todo, skipped: skipped + todo })}\n`;
    }
  }
}
