import assert from 'node:assert/strict';
import { appendFileSync, existsSync, renameSync, truncateSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { createSystemClock } from '@holdfast/platform';
import { withLog } from '../testing/log-file.ts';
import { type LogFileRequest, readLogFile } from './log-file.ts';

const clock = createSystemClock();

async function read(request: LogFileRequest): Promise<string> {
  let text = '';
  for await (const block of readLogFile(clock, request)) text += Buffer.from(block).toString();
  return text;
}

test('a log is read in full, by its last lines, and up to a limit', () =>
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

test('follow continues with later writes, also after a truncation', () =>
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

test('follow switches to each new file of the writer, however many there were', () =>
  withLog('one\n', async (path) => {
    const rotate = (text: string): void => {
      if (existsSync(`${path}.1`)) renameSync(`${path}.1`, `${path}.2`);
      renameSync(path, `${path}.1`);
      writeFileSync(path, text);
    };
    const steps = [
      () => rotate('two\n'),
      () => appendFileSync(`${path}.1`, 'late\n'),
      () => {},
      () => {
        rotate('three\n');
        rotate('four\n');
      },
      () => {},
    ];
    const isOver = async (): Promise<boolean> => {
      const step = steps.shift();
      step?.();
      return step === undefined;
    };
    assert.equal(await read({ path, isOver }), 'one\nlate\ntwo\nthree\nfour\n');
  }));
