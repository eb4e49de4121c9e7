import { createIds, createSilentLog, createSystemClock, createSystemRandom } from '@holdfast/platform';
import type { WriteOperation } from '@holdfast/store';
import { createSqliteStore } from '@holdfast/store/sqlite';

/**
 * Writes batches of two to a SQLite store until it is killed, and prints a line per acknowledged batch, after the
 * acknowledgement. Arguments: directory, number of writers, tag of this run.
 */
const [directory = '', writers = '1', run = ''] = process.argv.slice(2);
const ids = createIds(createSystemRandom());
const store = await createSqliteStore({ directory, clock: createSystemClock(), ids, log: createSilentLog() });

async function write(writer: number): Promise<void> {
  let expectedRevision = 0;
  const own = `core/pods/default/${run}-${writer}`;
  for (let step = 0; ; step++) {
    const tag = `${run}-${writer}-${step}`;
    const value = JSON.stringify({ tag, padding: 'x'.repeat(step % 5 === 0 ? 20_000 : 100) });
    const first: WriteOperation =
      step === 0 ? { kind: 'create', key: own, value } : { kind: 'update', key: own, value, expectedRevision };
    const result = await store.write([first, { kind: 'create', key: `core/pods/default/${tag}`, value }]);
    if (result.outcome !== 'committed') throw new Error(`${tag}: ${result.outcome}`);
    expectedRevision = result.firstRevision;
    const line = `${JSON.stringify({ tag, firstRevision: result.firstRevision })}\n`;
    await new Promise((resolve) => process.stdout.write(line, resolve));
  }
}

await Promise.all(Array.from({ length: Number(writers) }, (_, writer) => write(writer)));
