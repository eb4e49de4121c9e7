import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createVirtualClock } from '@holdfast/platform/testing';
import { CONTAINER_MARKER, createProcessTable, type MarkedProcess } from './process-table.ts';
import { createProcessWatch } from './process-watch.ts';
import type { ContainerRecord } from './records.ts';

const KERNEL_THREAD = 0x0020_0000;

/** A line of `/proc/<pid>/stat` up to field 52; `environmentEnd` is field 51. */
function statOf(pid: number, { flags = 0, environmentEnd = 4096 } = {}): string {
  const fields = ['S', 1, 40, 40, 0, -1, flags, ...Array.from({ length: 41 }, () => 7), environmentEnd, 0];
  return `${pid} (sleep (1)) ${fields.join(' ')}\n`;
}

const OURS = `PATH=/bin\0${CONTAINER_MARKER}=c1\0`;

function tableOf(files: Readonly<Record<string, string>>) {
  return createProcessTable(
    () => [603],
    (path) => files[path.slice('/proc/603/'.length)],
  );
}

const look = (files: Readonly<Record<string, string>>) =>
  tableOf(files)
    .scan()
    .map(({ marker, isStarting }) => ({ marker, isStarting }));

test('[SAFE-12] a process that begins a program shows no environment, and is looked at again', () => {
  const files: Record<string, string> = { stat: statOf(603, { environmentEnd: 0 }), environ: '' };
  const table = tableOf(files);
  assert.deepEqual(
    table.scan().map(({ isStarting }) => isStarting),
    [true],
  );
  Object.assign(files, { stat: statOf(603), environ: OURS });
  assert.deepEqual(
    table.scan().map(({ marker, isStarting }) => ({ marker, isStarting })),
    [{ marker: 'c1', isStarting: false }],
  );
});

test('a process without an environment, a kernel thread and one of another user begin nothing', () => {
  const plain = [{ marker: '', isStarting: false }];
  assert.deepEqual(look({ stat: statOf(603), environ: '' }), plain);
  assert.deepEqual(look({ stat: statOf(603, { flags: KERNEL_THREAD, environmentEnd: 0 }), environ: '' }), plain);
  assert.deepEqual(look({ stat: statOf(603, { environmentEnd: 0 }) }), plain);
});

const entry = (given: Partial<MarkedProcess>): MarkedProcess => ({
  pid: 603,
  parent: 1,
  group: 40,
  session: 40,
  startTicks: '7',
  zombie: false,
  marker: '',
  isStarting: false,
  ...given,
});

function watchOf(scans: readonly (readonly MarkedProcess[])[]) {
  const clock = createVirtualClock();
  let at = 0;
  const scan = () => scans[Math.min(at++, scans.length - 1)] ?? [];
  const watch = createProcessWatch(clock, 'boot', { scan });
  return { clock, members: () => watch.members({ id: 'c1' } as ContainerRecord, { leaderWasSeen: true }) };
}

test('[SAFE-12] a container has no process left only when every process shows whose it is', async () => {
  const ours = entry({ marker: 'c1' });
  const { clock, members } = watchOf([[entry({ isStarting: true })], [ours]]);
  const found = members();
  await clock.advance(10);
  assert.deepEqual(await found, [ours]);
});

test('a process that never gets to its program delays the word for a second only', async () => {
  const { clock, members } = watchOf([[entry({ isStarting: true })]]);
  let answer: readonly MarkedProcess[] | undefined;
  void members().then((found) => {
    answer = found;
  });
  await clock.advance(900);
  assert.equal(answer, undefined);
  await clock.advance(200);
  assert.deepEqual(answer, []);
});
