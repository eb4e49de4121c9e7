import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Service, startAll } from './lifecycle.ts';

/** Writes down what is asked of it. */
function serviceOf(seen: string[], name: string, fails: 'start' | 'stop' | 'never' = 'never'): Service {
  const record = (what: 'start' | 'stop') => async (): Promise<void> => {
    seen.push(`${what} ${name}`);
    if (fails === what) throw new Error(`${name} does not ${what}`);
  };
  return { name, start: record('start'), stop: record('stop') };
}

test('services start in order and stop in reverse', async () => {
  const seen: string[] = [];
  const all = await startAll('all', [serviceOf(seen, 'a'), serviceOf(seen, 'b')]);
  assert.equal(all.name, 'all');
  await all.stop();
  assert.deepEqual(seen, ['start a', 'start b', 'stop b', 'stop a']);
});

test('when one does not start, it and those before it are stopped, and the reason is told', async () => {
  const seen: string[] = [];
  const services = [serviceOf(seen, 'a'), serviceOf(seen, 'b', 'start'), serviceOf(seen, 'c')];
  await assert.rejects(startAll('all', services), { message: 'b does not start' });
  assert.deepEqual(seen, ['start a', 'start b', 'stop b', 'stop a']);
});

test('what cannot be stopped after a failed start hides neither the reason nor keeps others running', async () => {
  const seen: string[] = [];
  const services = [serviceOf(seen, 'a'), serviceOf(seen, 'b', 'stop'), serviceOf(seen, 'c', 'start')];
  await assert.rejects(startAll('all', services), { message: 'c does not start' });
  assert.deepEqual(seen.slice(3), ['stop c', 'stop b', 'stop a']);
});

test('one that fails to stop keeps none of the others running, and is told', async () => {
  const seen: string[] = [];
  const all = await startAll('all', [serviceOf(seen, 'a'), serviceOf(seen, 'b', 'stop')]);
  await assert.rejects(all.stop(), { message: 'b does not stop' });
  assert.deepEqual(seen.slice(2), ['stop b', 'stop a']);
});

test('one that throws before it answers keeps none of the others running either', async () => {
  const seen: string[] = [];
  const throws = (): never => {
    throw new Error('b does not stop');
  };
  const all = await startAll('all', [serviceOf(seen, 'a'), { ...serviceOf(seen, 'b'), stop: throws }]);
  await assert.rejects(all.stop(), { message: 'b does not stop' });
  assert.deepEqual(seen.slice(2), ['stop a']);
});
