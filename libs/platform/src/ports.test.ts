import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { createSystemClock } from './clock.ts';
import { clockContract, eventually, logContract, randomContract } from './contract/index.ts';
import { createSilentLog, type Log } from './log.ts';
import { createPinoLog } from './pino-log.ts';
import { createSeededRandom, createSystemRandom } from './random.ts';
import { RepeatedErrors } from './repeated-errors.ts';
import { terminalLine } from './terminal-line.ts';

clockContract('system clock', () => {
  const clock = createSystemClock();
  return { clock, advance: (ms) => clock.sleep(ms) };
});
randomContract('system random', createSystemRandom);
randomContract('seeded random', () => createSeededRandom(11, 'contract'));
logContract('pino log', () => {
  const lines: string[] = [];
  const log = createPinoLog({
    level: 'debug',
    service: 'contract',
    destination: { write: (line) => lines.push(line) },
  });
  return { log, records: () => lines.map((line) => JSON.parse(line) as Record<string, unknown>) };
});

function recordsOf(write: (log: Log) => void): readonly Record<string, unknown>[] {
  const lines: string[] = [];
  write(createPinoLog({ level: 'info', service: 'demo', destination: { write: (line) => lines.push(line) } }));
  for (const line of lines) assert.equal(line.match(/"node":/g)?.length ?? 1, 1, line);
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

test('a log line has level words, an ISO time, and no duplicate key', () => {
  const [record] = recordsOf((log) => log.child({ node: 'a', msg: 'x' }).warn('gone', { node: 'b', level: 3 }));
  const { time, ...rest } = record ?? {};
  assert.match(String(time), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  assert.deepEqual(rest, { level: 'warn', service: 'demo', node: 'b', msg_: 'x', level_: 3, msg: 'gone' });
});

test('an outage is logged by its message, a bug with its stack, and a shared failure once', async () => {
  const records = recordsOf((log) => {
    log.warn('no answer', { error: new Error('TIMEOUT', { cause: new Error('down') }) });
    log.error('broken', { error: new TypeError('x is undefined') });
    for (let i = 0; i < 49; i += 1) log.warn('cannot follow', { filter: `f${i}`, error: new Error('TIMEOUT') });
  });
  assert.deepEqual(
    records.map(({ msg, error, stack }) => [msg, error, typeof stack]),
    [
      ['no answer', 'TIMEOUT: down', 'undefined'],
      ['broken', 'x is undefined', 'string'],
      ['cannot follow', 'TIMEOUT', 'undefined'],
    ],
  );
  const passed: unknown[] = [];
  const repeated = new RepeatedErrors();
  for (let i = 0; i < 49; i += 1) repeated.pass('k', (more) => passed.push(more));
  assert.deepEqual(passed, [{}]);
  await eventually(async () => passed.length === 2, 'the others are counted');
  assert.deepEqual(passed, [{}, { repeated: 48 }]);
});

test('a terminal shows time, level, message and fields, without control characters', () => {
  const shown = terminalLine(
    JSON.stringify({
      level: 'warn',
      time: '2026-11-20T12:34:56.789Z',
      service: 'demo',
      node: 'a',
      error: 'a "b" \u001b[31m\u009b',
      count: 3,
      stack: 'Error: x\n    at y',
      msg: 'gone',
    }),
  );
  assert.equal(
    shown,
    '12:34:56.789 WARN  gone  node=a  error="a \\"b\\" \\u001b[31m\\u009b"  count=3\n    Error: x\n    at y\n',
  );
});

test('silent log: it and its children drop every line', () => {
  const log = createSilentLog();
  assert.equal(log.child({ key: 'a' }), log);
  log.error('nobody sees this', { error: new Error('dropped') });
});

test('seeded streams: equal seed and name repeat, another name or seed is unrelated', () => {
  const draw = (seed: number, name: string): readonly number[] => {
    const random = createSeededRandom(seed, name);
    return Array.from({ length: 5 }, () => random.int(1_000_000));
  };
  assert.deepEqual(draw(1, 'network'), draw(1, 'network'));
  assert.notDeepEqual(draw(1, 'network'), draw(1, 'faults'));
  assert.notDeepEqual(draw(1, 'network'), draw(2, 'network'));
});

test('pino log: JSON lines on standard error with the fields of the contract, and no secret', () => {
  const program = `
    import { createPinoLog } from ${JSON.stringify(new URL('./pino-log.ts', import.meta.url).href)};
    const log = createPinoLog({ level: 'info', service: 'demo' });
    log.debug('not written');
    log.child({ key: 'a/b' }).error('pass failed', { error: new Error('outer', { cause: new Error('inner') }) });
    log.info('connecting', { token: 'hunter2', bus: { password: 'hunter2' } });`;
  const { stderr, stdout } = spawnSync(process.execPath, ['--input-type=module-typescript', '-e', program], {
    encoding: 'utf8',
  });
  const records = stderr
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  assert.equal(stdout, '');
  assert.equal(records.length, 2);
  assert.equal(records[0]?.['service'], 'demo');
  assert.equal(records[0]?.['key'], 'a/b');
  assert.ok(stderr.includes('outer') && stderr.includes('inner'));
  assert.ok(!stderr.includes('hunter2'));
});
