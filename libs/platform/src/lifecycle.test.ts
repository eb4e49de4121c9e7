import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Clock, createSystemClock } from './clock.ts';
import { opened, Running, type Service, startAll } from './lifecycle.ts';
import { createSilentLog, type Log } from './log.ts';

const tools = { clock: createSystemClock(), log: createSilentLog() };

/** A clock on which one second lasts one millisecond. */
function hastyClock(): Clock {
  const clock = createSystemClock();
  return { ...clock, timer: (delayMs, fire) => clock.timer(delayMs / 1000, fire) };
}

const hangs = (name: string): Service => ({ name, start: async () => {}, stop: () => new Promise(() => {}) });

/** Records the errors that it logs. */
function rememberingLog(): { readonly log: Log; readonly told: unknown[] } {
  const told: unknown[] = [];
  const log = { ...createSilentLog(), error: (_: string, fields?: object) => told.push(fields) };
  return { log: log as unknown as Log, told };
}

/** A service that records its calls. */
function serviceOf(seen: string[], name: string, fails: 'start' | 'stop' | 'never' = 'never'): Service {
  const record = (what: 'start' | 'stop') => async (): Promise<void> => {
    seen.push(`${what} ${name}`);
    if (fails === what) throw new Error(`${name} does not ${what}`);
  };
  return { name, start: record('start'), stop: record('stop') };
}

test('services start in order and stop in reverse', async () => {
  const seen: string[] = [];
  const all = await startAll('all', [serviceOf(seen, 'a'), serviceOf(seen, 'b')], tools);
  assert.equal(all.name, 'all');
  await all.stop();
  assert.deepEqual(seen, ['start a', 'start b', 'stop b', 'stop a']);
});

test('a second stop waits for the first one and rejects with the same error', async () => {
  const seen: string[] = [];
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const slow: Service = { name: 'slow', start: async () => {}, stop: () => released };
  const all = await startAll('all', [serviceOf(seen, 'a', 'stop'), slow], tools);
  const ends = [all.stop(), all.stop()].map((end) => end.catch((error: Error) => seen.push(error.message)));
  await new Promise(setImmediate);
  assert.deepEqual(seen, ['start a']);
  release();
  await Promise.all(ends);
  assert.deepEqual(seen, ['start a', 'stop a', 'a does not stop', 'a does not stop']);
});

test('when a service fails to start, it and the services before it are stopped, and the reason is reported', async () => {
  const seen: string[] = [];
  const services = [serviceOf(seen, 'a'), serviceOf(seen, 'b', 'start'), serviceOf(seen, 'c')];
  await assert.rejects(startAll('all', services, tools), { message: 'b does not start' });
  assert.deepEqual(seen, ['start a', 'start b', 'stop b', 'stop a']);
});

test('a stop during a start gives it up: what has begun stops at once, what it still opens too, and nothing begins', async () => {
  const seen: string[] = [];
  const running = new Running(tools);
  const { promise: opening, resolve: open } = Promise.withResolvers<void>();
  const beginning = running.begin(async () => {
    await running.start(serviceOf(seen, 'a'));
    await opening;
    running.add(opened('b', async () => void seen.push('stop b')));
    await running.start(serviceOf(seen, 'c'));
  });
  const refused = assert.rejects(beginning, { code: 'StartGivenUp' });
  await new Promise(setImmediate);
  let isStopped = false;
  const stopping = running.stop().then(() => (isStopped = true));
  await new Promise(setImmediate);
  assert.deepEqual([seen, isStopped], [['start a', 'stop a'], false]);
  open();
  await Promise.all([refused, stopping]);
  assert.deepEqual(seen, ['start a', 'stop a', 'stop b']);
});

test('a start that was given up in its last step is stopped; the next one goes its way', async () => {
  const seen: string[] = [];
  const running = new Running(tools);
  const { promise: last, resolve: end } = Promise.withResolvers<void>();
  const beginning = running.begin(async () => {
    await last;
  });
  const stopping = running.stop();
  end();
  await assert.rejects(beginning, { code: 'StartGivenUp' });
  await stopping;
  await running.begin(() => running.start(serviceOf(seen, 'a')));
  await running.stop();
  assert.deepEqual(seen, ['start a', 'stop a']);
});

test('a service that was stopped during its start is stopped after it', async () => {
  const running = new Running(tools);
  const { promise: opening, resolve: open } = Promise.withResolvers<void>();
  let isOpen = false;
  const slow = {
    name: 'slow',
    start: async () => {
      await opening;
      isOpen = true;
    },
    stop: async () => void (isOpen = false),
  };
  const refused = assert.rejects(
    running.begin(() => running.start(slow)),
    { code: 'StartGivenUp' },
  );
  const stopping = running.stop();
  open();
  await Promise.all([refused, stopping]);
  assert.equal(isOpen, false);
});

test('a step that fails because the start is given up does not hide that', async () => {
  const running = new Running(tools);
  const { promise: step, reject } = Promise.withResolvers<void>();
  const beginning = running.begin(() => step);
  const stopping = running.stop();
  const cause = new Error('the store is closed');
  reject(cause);
  await assert.rejects(beginning, { code: 'StartGivenUp', cause });
  await stopping;
});

test('a failed stop after a failed start neither hides the first error nor keeps other services running', async () => {
  const seen: string[] = [];
  const services = [serviceOf(seen, 'a'), serviceOf(seen, 'b', 'stop'), serviceOf(seen, 'c', 'start')];
  await assert.rejects(startAll('all', services, tools), { message: 'c does not start' });
  assert.deepEqual(seen.slice(3), ['stop c', 'stop b', 'stop a']);
});

test('a service that fails to stop is reported, and the others are stopped', async () => {
  const seen: string[] = [];
  const all = await startAll('all', [serviceOf(seen, 'a'), serviceOf(seen, 'b', 'stop')], tools);
  await assert.rejects(all.stop(), { message: 'b does not stop' });
  assert.deepEqual(seen.slice(2), ['stop b', 'stop a']);
});

test('a service that throws synchronously does not keep the others running', async () => {
  const seen: string[] = [];
  const throws = (): never => {
    throw new Error('b does not stop');
  };
  const services = [serviceOf(seen, 'a'), { ...serviceOf(seen, 'b'), stop: throws }];
  const all = await startAll('all', services, tools);
  await assert.rejects(all.stop(), { message: 'b does not stop' });
  assert.deepEqual(seen.slice(2), ['stop a']);
});

test('every failed stop is reported, and a service that hangs does not keep the others running', async () => {
  const seen: string[] = [];
  const services = [serviceOf(seen, 'a', 'stop'), hangs('b'), serviceOf(seen, 'c', 'stop'), serviceOf(seen, 'd')];
  const all = await startAll('all', services, { ...tools, clock: hastyClock() });
  await assert.rejects(all.stop(), {
    message: 'c does not stop; b did not stop within 30 s; a does not stop',
  });
  assert.deepEqual(seen.slice(3), ['stop d', 'stop c', 'stop a']);
});

test('after a failed start a service that hangs does not delay the reason, and is logged', async () => {
  const seen: string[] = [];
  const { log, told } = rememberingLog();
  const services = [serviceOf(seen, 'a', 'stop'), hangs('b'), serviceOf(seen, 'c', 'start')];
  const starting = startAll('all', services, { clock: hastyClock(), log });
  await assert.rejects(starting, { message: 'c does not start' });
  assert.deepEqual(told, [{ error: 'b did not stop within 10 s; a does not stop' }]);
});
