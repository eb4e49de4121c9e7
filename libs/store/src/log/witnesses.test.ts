import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { createSystemClock } from '@holdfast/platform';
import { LOG_WITNESS_VALID_MS } from '../limits.ts';
import { Witnesses } from './witnesses.ts';

test('I7: who is alone with what it made of the log is refuted; of two, both are; a majority goes on', () => {
  const clock = createSystemClock();
  const [alone, one, majority] = [new Witnesses(clock), new Witnesses(clock), new Witnesses(clock)];
  alone.add('b', false);
  alone.add('c', false);
  one.add('b', false);
  majority.add('b', false);
  majority.add('c', true);
  assert.deepEqual(
    [alone, one, majority].map(({ verdict }) => verdict.isRefuted),
    [true, true, false],
  );
  assert.equal(majority.verdict.against, 1);
});

test('I7: a process that ended long ago has no say', () => {
  let now = 0;
  const witnesses = new Witnesses({ ...createSystemClock(), monotonic: () => now });
  witnesses.add('old', false);
  now = LOG_WITNESS_VALID_MS + 1;
  assert.deepEqual(witnesses.verdict, { against: 0, isRefuted: false });
});
