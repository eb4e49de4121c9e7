import assert from 'node:assert/strict';
import { appendFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { createSystemClock, parseTime } from '@holdfast/platform';
import fc from 'fast-check';
import { withLog } from '../testing/log-file.ts';
import { type LogFileRequest, readLogFile } from './log-file.ts';
import { criLines, type LogBlock, logText, timedLines } from './log-lines.ts';

const clock = createSystemClock();

async function textOf(blocks: AsyncIterable<Uint8Array>): Promise<string> {
  let text = '';
  for await (const block of blocks) text += Buffer.from(block).toString();
  return text;
}

const read = (request: LogFileRequest): Promise<string> => textOf(readLogFile(clock, request));
const at = (second: number): number => parseTime(`2026-01-01T00:00:0${second}Z`) ?? assert.fail('a time');

async function* cut(text: string, sizes: readonly number[]): AsyncGenerator<LogBlock> {
  const bytes = Buffer.from(text);
  let offset = 0;
  for (const size of [...sizes, bytes.length]) {
    const block = bytes.subarray(offset, offset + size);
    if (block.length > 0) yield { offset, bytes: block };
    offset += block.length;
  }
}

test('[LIFE-18] the end of a log without times and streams; a partial first line is omitted', () => {
  const end = Buffer.from(
    '2026-01-01T00:00:00.1Z stdout F one\n2026-01-01T00:00:00.2Z stderr P tw\n2026-01-01T00:00:00.3Z stderr F o\n',
  );
  const textOf = (bytes: Uint8Array, format: 'cri' | undefined): string =>
    Buffer.from(logText(bytes, format)).toString();
  assert.equal(textOf(end, 'cri'), 'one\ntwo\n');
  assert.equal(textOf(end.subarray(26), 'cri'), 'two\n');
  assert.equal(textOf(Buffer.from('plain\n'), undefined), 'plain\n');
});

test('each line has the time of the first note that covers it, and the rest that of the last write', () =>
  withLog('one\ntwo\nthree\nfour\n', async (path) => {
    writeFileSync(`${path}.times`, `4 ${at(1)}\n14 ${at(3)}\n`);
    const lines = (await read({ path, timestamps: true })).split('\n');
    assert.deepEqual(lines.slice(0, 3), [
      '2026-01-01T00:00:01.000000000Z one',
      '2026-01-01T00:00:03.000000000Z two',
      '2026-01-01T00:00:03.000000000Z three',
    ]);
    assert.match(lines[3] ?? '', /^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z four$/);
    assert.equal(await read({ path, sinceMs: at(2) }), 'two\nthree\nfour\n');
    assert.equal(await read({ path, sinceMs: at(2), tailLines: 2 }), 'three\nfour\n');
    assert.equal(await read({ path, sinceMs: clock.now() + 60_000 }), '');
    assert.equal(await read({ path, timestamps: true, limitBytes: 12 }), '2026-01-01T0');
  }));

test('notes written while a log is followed are read, also those of a truncated log', () =>
  withLog('first\n', async (path) => {
    writeFileSync(`${path}.times`, `6 ${at(1)}\n`);
    const steps = [
      () => {
        appendFileSync(`${path}.times`, `13 ${at(2)}\n`);
        appendFileSync(path, 'second\n');
      },
      () => {
        appendFileSync(`${path}.times`, `4 ${at(5)}\n`);
        writeFileSync(path, 'new\n');
      },
    ];
    const isOver = async (): Promise<boolean> => {
      const step = steps.shift();
      step?.();
      return step === undefined;
    };
    const lines = (await read({ path, timestamps: true, isOver })).trimEnd().split('\n');
    assert.deepEqual(
      lines.map((line) => line.slice(18)),
      ['1.000000000Z first', '2.000000000Z second', '5.000000000Z new'],
    );
  }));

test('a log without time notes has the time of its last write', () =>
  withLog('one\n', async (path) => {
    assert.equal(await read({ path, sinceMs: clock.now() - 3_600_000 }), 'one\n');
    assert.match(await read({ path, timestamps: true }), /Z one\n$/);
  }));

test('logs of a container runtime are read by the same reader: parts are joined, streams are mixed, invalid lines are omitted', () => {
  const stamp = (second: number): string => `2026-01-01T00:00:0${second}.123456789Z`;
  const raw = [
    `${stamp(1)} stdout F one`,
    `${stamp(2)} stderr P tw`,
    `${stamp(3)} stderr F o`,
    'not a line of a runtime',
    `${stamp(4)} stdout F `,
    `${stamp(5)} stdout F stdout F x`,
  ];
  return withLog(`${raw.join('\n')}\n`, async (path) => {
    assert.equal(await read({ path, format: 'cri' }), 'one\ntwo\n\nstdout F x\n');
    assert.equal(await read({ path, format: 'cri', sinceMs: at(4) }), '\nstdout F x\n');
    assert.equal(await read({ path, format: 'cri', tailLines: 1, timestamps: true }), `${stamp(5)} stdout F x\n`);
    assert.equal(
      await read({ path, format: 'cri', timestamps: true }),
      `${stamp(1)} one\n${stamp(2)} two\n${stamp(4)} \n${stamp(5)} stdout F x\n`,
    );
  });
});

test('the position of block boundaries does not change the lines', async () => {
  const raw = '2026-01-01T00:00:01Z stdout F one\n2026-01-01T00:00:02Z stdout P t\n2026-01-01T00:00:03Z stdout F wo\n';
  const options = { timestamps: true, sinceMs: undefined };
  const times = { at: () => Promise.resolve(at(1)) };
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 40 })), async (sizes) => {
      const cri = await textOf(criLines(cut(raw, sizes), options));
      assert.equal(cri, '2026-01-01T00:00:01Z one\n2026-01-01T00:00:02Z two\n');
      const plain = await textOf(timedLines(cut('a\n\nbc', sizes), times, options));
      assert.equal(plain.replaceAll('2026-01-01T00:00:01.000000000Z ', '>'), '>a\n>\n>bc');
    }),
  );
});
