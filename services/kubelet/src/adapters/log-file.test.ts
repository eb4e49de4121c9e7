import assert from 'node:assert/strict';
import { appendFileSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createSystemClock } from '@holdfast/platform';
import { type LogFileRequest, readLogFile } from './log-file.ts';

const clock = createSystemClock();

async function withLog(text: string, body: (path: string) => Promise<void>): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-log-'));
  const path = join(directory, 'log');
  writeFileSync(path, text);
  try {
    await body(path);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

async function read(request: LogFileRequest): Promise<string> {
  let text = '';
  for await (const block of readLogFile(clock, request)) text += Buffer.from(block).toString();
  return text;
}

test('all of a log, its last lines, and no more than a limit', () =>
  withLog('one\ntwo\nthree\n', async (path) => {
    assert.equal(await read({ path }), 'one\ntwo\nthree\n');
    const tails = await Promise.all([0, 1, 2, 3, 9].map((tailLines) => read({ path, tailLines })));
    assert.deepEqual(tails, ['', 'three\n', 'two\nthree\n', 'one\ntwo\nthree\n', 'one\ntwo\nthree\n']);
    assert.equal(await read({ path, limitBytes: 5 }), 'one\nt');
    assert.equal(await read({ path: `${path}.missing` }), '');
  }));

test('the last lines of a log of many blocks', () => {
  const lines = Array.from({ length: 20_000 }, (_, i) => `line ${i} ${'x'.repeat(20)}\n`);
  return withLog(lines.join(''), async (path) => {
    for (const tailLines of [1, 3_000, 19_999])
      assert.equal(await read({ path, tailLines }), lines.slice(-tailLines).join(''));
  });
});

test('following goes on to what is written last, also over an emptied file', () =>
  withLog('first\n', async (path) => {
    const steps = [
      () => appendFileSync(path, 'second\n'),
      () => truncateSync(path, 0),
      () => appendFileSync(path, 'new\n'),
    ];
    const isOver = async (): Promise<boolean> => {
      const step = steps.shift();
      step?.();
      return step === undefined;
    };
    assert.equal(await read({ path, isOver }), 'first\nsecond\nnew\n');
  }));
