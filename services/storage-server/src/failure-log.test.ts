import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSilentLog, type Log } from '@holdfast/platform';
import { createVirtualClock } from '@holdfast/platform/testing';
import { FailureLog } from './failure-log.ts';
import { FAILURE_REPORT_MS } from './limits.ts';

const full = (path: string): Error =>
  Object.assign(new Error(`ENOSPC: no space left on device, open '${path}'`), { code: 'ENOSPC' });

test('equal failures are logged once in a period, with the number of those in between', async () => {
  const lines: unknown[] = [];
  const log: Log = {
    ...createSilentLog(),
    error: (_message, fields) => void lines.push([fields?.['operation'], fields?.['repeated']]),
  };
  const clock = createVirtualClock();
  const failures = new FailureLog({ clock, log });
  for (let i = 0; i < 1_000; i += 1) failures.report('write', full(`/volumes/${i}`));
  assert.deepEqual(lines, [['write', undefined]], 'the paths of the files make no difference');
  failures.report('flush', full('/volumes/0'));
  for (const volume of ['a', 'b', 'a']) failures.report('write', new Error(`volume ${volume} is damaged`));
  assert.equal(lines.length, 4, 'another operation or another error is reported at once');
  await clock.advance(FAILURE_REPORT_MS);
  failures.report('write', full('/volumes/0'));
  assert.deepEqual(lines.at(-1), ['write', 999]);
  await clock.advance(FAILURE_REPORT_MS);
  failures.report('write', full('/volumes/0'));
  assert.deepEqual(lines.at(-1), ['write', undefined]);
});
