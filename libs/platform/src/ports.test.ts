import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { createSystemClock } from './clock.ts';
import { clockContract, logContract, randomContract } from './contract/index.ts';
import { createSilentLog } from './log.ts';
import { createPinoLog } from './pino-log.ts';
import { createSeededRandom, createSystemRandom } from './random.ts';

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

test('silent log: drops everything, and so do its children', () => {
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
